"""Checks what the annotation `parallel` states (LANGUAGE.md; paper: annotated concurrent calls): that its arguments, or the
elements of its list, do not use each other's results. It changes nothing: what is independent runs side by side without it.

    a = f(x); b = g(a); parallel(a, b)           problem: `g(a)` uses `f(x)`
    a = f(x); b = g(x); parallel(a, b)           fine: both use x, neither uses the other
    parallel([f(x) for x in xs])                 fine: the elements of a comprehension never use each other
    for x in xs: h = f(x, h); hs.append(h)
    parallel(hs)                                 problem: the loop carries h, a result of work, from one element to the next

Two values are independent if neither is computed from the other (`flow.py`). A list is resolved into the elements and lists
that it is made of. Elements that a loop or a recursion appends are independent if it carries no work between them.

Source: the annotation is the paper's; the check is our own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.flow import FunctionFlow, Name, ProgramFlow
from backends.acrobat.analyses.quoting import chain_text, plain_name, source
from backends.acrobat.core.reach import reachable
from backends.acrobat.core.span import Span
from backends.acrobat.core.types import ListT
from backends.acrobat.errors import Problem
from backends.acrobat.ir.nodes import Call, Expr, Field, Fold, Host, If, ListOf, Loop, Match, Program, Tuple, Var
from backends.acrobat.ir.visitor import bodies, lets

Say = Callable[[Problem], None]
Path = tuple[tuple[int, int], ...]
"""The arms of branches that something stands in, from outside in: (`id` of the branch, number of the arm)."""
Resolving = frozenset[tuple[str, Name | None]]
"""What is being resolved already, so that recursion ends: (function, list), and (function, None) for a call of it."""

ADVICE = "leave `parallel` out, or compute each from what was there before: what is independent runs side by side without it"


def dependent(program: Program, graph: CallGraph) -> list[Problem]:
    """A problem, with its place in the source and advice, for each `parallel` whose arguments or elements use each other."""
    flows = ProgramFlow(program, graph)
    return [problem for name in program.functions for problem in _ListChecker(flows, flows.of(name)).problems()]


@dataclass(frozen=True, slots=True)
class _ListPart:
    """A part of a list: an element, or a list that is not resolved further. `path`: the arms
    that it stands in. `outside`: the function was given the part, so it was computed before."""

    name: Name
    span: Span
    path: Path
    outside: bool

    def excludes(self, other: _ListPart) -> bool:
        """Whether the two parts stand in different arms of one branch, so that no list has both."""
        arms = dict(other.path)
        return any(arms.get(choice, branch) != branch for choice, branch in self.path)


class _ListChecker:
    """Resolves lists of one function into the elements that they are made of, and checks the `parallel`s of the function."""

    def __init__(self, flows: ProgramFlow, flow: FunctionFlow) -> None:
        self.flows, self.flow = flows, flow

    def part(self, name: Name, span: Span, path: Path = ()) -> _ListPart:
        """The value as a part of a list. `span`: its place in the source, if its definition has none."""
        value = self.flow.values.get(name)
        own = value.span if value is not None and value.span.line else span
        return _ListPart(name, own, path, outside=not self.flow.computed(name))

    def parts(self, name: Name, span: Span, resolving: Resolving, say: Say, path: Path = ()) -> Iterator[_ListPart]:
        """The parts of a list. `resolving`: lists that are being resolved already. `say` gets problems inside the list."""
        if (self.flow.function.name, name) in resolving:
            return
        resolving |= {(self.flow.function.name, name)}

        def further(atoms: Sequence[Expr]) -> Iterator[_ListPart]:
            for n in self.flow.names([a for a in atoms if isinstance(a.type, ListT)]):
                yield from self.parts(n, span, resolving, say, path)

        def elements(atoms: Sequence[Expr]) -> Iterator[_ListPart]:
            for a in atoms:
                if isinstance(a, Var):
                    yield self.part(self.flow.name(a), a.span, path)

        if name in self.flow.carried:
            yield from self._of_loop(name, span, resolving, say, path)
            return
        value = self.flow.values.get(name)
        parent, index = (self.flow.definition(value.value), value.index) if isinstance(value, Field) else (value, None)
        match parent:
            case If() | Match():
                for i, body in enumerate(bodies(parent)):
                    for n in self._ends(body, index):
                        yield from self.parts(n, span, resolving, say, (*path, (id(parent), i)))
            case Call():
                yield from self._of_call(name, parent, index, span, resolving, say, path)
            case Fold() | Loop() if index is not None:
                yield from self.parts(parent.vars[index].name, span, resolving, say, path)
            case ListOf(items):
                yield from elements(items)
            case Host("list.append", (xs, x)):
                yield from further([xs])
                yield from elements([x])
            case Host("zip", lists):
                for part in further(lists):
                    yield _ListPart(name, span, path, part.outside)
            case Host(op, args) if op != "list.get":
                yield from further(args)
            case _:
                yield self.part(name, span, path)

    def _ends(self, body: Expr, i: int | None) -> list[Name]:
        """As `component`, but branches in which the body ends are left to `parts`, which has to know each part's arm."""
        _, tail = lets(body)
        if isinstance(tail, Var):
            value = self.flow.definition(tail)
            if i is None or isinstance(value, Tuple):
                return self.flow.component(tail, i)
            return [self.flow.field(tail, i)]
        return self.flow.component(tail, i)

    def _of_loop(self, name: Name, span: Span, resolving: Resolving, say: Say, path: Path) -> Iterator[_ListPart]:
        """The parts of a list that a loop carries. If each round adds to the list, the new elements come from different rounds:
        they are dependent if the loop also carries work from round to round."""
        loop, i = self.flow.carried[name]
        ends = self._ends(loop.body, i)
        grows = any(self._grows(n, name) for n in ends)
        for n in self.flow.names([loop.init[i]]):
            yield from self.parts(n, span, resolving, say, path if grows else (*path, (id(loop), 0)))
        for end in ends:
            new = [*self.parts(end, span, resolving, say, path if grows else (*path, (id(loop), 1)))]
            for part in new if grows else ():
                if (carrying := self._carries(part.name, loop)) is not None:
                    carried, chain = carrying
                    text = f"the elements of {source(span)} are not independent: the loop in line {loop.span.line} carries"
                    say(Problem(span, f"{text} `{carried}` from one to the next, by {chain_text(chain)}", ADVICE))
                    return
            yield from new

    def _grows(self, name: Name, carried: Name) -> bool:
        """Whether the list `name` contains the elements of the list `carried`."""
        value = self.flow.values.get(name)
        if name == carried:
            return True
        if isinstance(value, Host) and value.op in ("list.append", "list.concat", "list.slice", "list.reverse"):
            return any(self._grows(n, carried) for n in self.flow.names(value.args))
        parent, index = (self.flow.definition(value.value), value.index) if isinstance(value, Field) else (value, None)
        if isinstance(parent, Fold | Loop) and index is not None:
            return any(self._grows(n, carried) for n in self.flow.names([parent.init[index]]))
        return isinstance(parent, If | Match) and any(self._grows(n, carried) for n in self.flow.component(parent, index))

    def _carries(self, element: Name, loop: Fold | Loop) -> tuple[str, list[str]] | None:
        """(name, steps) of a variable of the loop by which tensor work of one round enters the element of a later one, if
        any."""
        entering = reachable([element], lambda name: (n for n, _ in self.flow.uses(name)))
        for var in loop.vars:
            if var.name not in entering:
                continue
            previous: dict[tuple[Name, int], tuple[Name, int] | None] = {(var.name, 0): None}
            steps: list[tuple[Name, int]] = [(var.name, 0)]
            while steps:
                at = steps.pop(0)
                for used, _ in self.flow.uses(at[0]):
                    worked = int(at[1] or self.flows.works(self.flow.values.get(used, var)))
                    if used == var.name and worked:
                        return plain_name(var.name, loop.span), self.flow.steps_in_source(at, previous)
                    if (used, worked) not in previous:
                        previous[used, worked] = at
                        steps.append((used, worked))
        return None

    def _of_call(
        self, name: Name, call: Call, index: int | None, span: Span, resolving: Resolving, say: Say, path: Path
    ) -> Iterator[_ListPart]:
        """The parts of a list that a call returns: parts from inside the function are checked here, its arguments are
        resolved."""
        callee = _ListChecker(self.flows, self.flows.of(call.function))
        if (call.function, None) in resolving:  # a recursion
            yield self.part(name, span, path)
            return
        inner = resolving | {(call.function, None)}
        parts = [p for n in callee.flow.component(callee.flow.result, index) for p in callee.parts(n, span, inner, say)]
        callee.check_pairs(parts, (), source(span), span, say)
        part_names = {p.name for p in parts}
        for param, arg in zip(callee.flow.function.params, call.args, strict=True):
            if isinstance(arg, Var) and param.name in part_names:
                yield from self.parts(self.flow.name(arg), span, resolving, say, path)
        if not part_names or any(not p.outside for p in parts):
            yield self.part(name, span, path)

    def problems(self) -> list[Problem]:
        """The problems of all `parallel` markers in the function, each once."""
        problems: dict[Problem, None] = {}

        def say(problem: Problem) -> None:
            problems.setdefault(problem)

        for marker, loops in self.flow.markers:
            if len(marker.args) > 1:
                names = [(self.flow.name(a), a.span) for a in marker.args if isinstance(a, Var)]
                parts = [_ListPart(name, span, (), not self.flow.computed(name)) for name, span in names]
                self.check_pairs(parts, loops, "", marker.span, say)
            elif isinstance(marker.args[0], Var):
                xs = marker.args[0]
                parts = [*self.parts(self.flow.name(xs), xs.span, frozenset(), say)]
                self.check_pairs(parts, loops, source(xs.span), marker.span, say)
        return list(problems)

    def check_pairs(self, parts: Sequence[_ListPart], loops: tuple[int, ...], whole: str, span: Span, say: Say) -> None:
        """Reports each part that uses another one. `whole`: the text of the list that they are parts of; empty for
        arguments."""
        for user in parts:
            for used in parts:
                if user.name == used.name or used.outside or user.excludes(used):
                    continue
                if (chain := self.flow.chain(user.name, self.flow.parts_of(used.name, user.name), loops)) is not None:
                    head = f"the elements of {whole} are not independent: " if whole else ""
                    verb = "uses" if whole else "is not independent of"
                    say(Problem(span, f"{head}{source(user.span)} {verb} {source(used.span)}: {chain_text(chain)}", ADVICE))
                    break
