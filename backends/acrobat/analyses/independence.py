"""Checks what the annotation `parallel` states (LANGUAGE.md; paper: annotated concurrent calls): that its arguments, or the
elements of its list, do not use each other's results. It changes nothing: what is independent runs side by side without it.

    a = f(x); b = g(a); parallel(a, b)           problem: `g(a)` uses `f(x)`
    a = f(x); b = g(x); parallel(a, b)           fine: both use x, neither uses the other
    parallel([f(x) for x in xs])                 fine: the elements of a comprehension never use each other
    for x in xs: h = f(x, h); hs.append(h)
    parallel(hs)                                 problem: the loop carries h, a result of work, from one element to the next

Two values are independent if neither is reached from the other by following dependence backwards: through the variables of a
function, into the branches and around the loops that they come from, and from a component of a call's result into the called
function. Parameters and their fields were computed before, so they depend on nothing here. A list is resolved into the elements
and lists that it is made of. Elements that a loop or a recursion appends are independent if it carries no work between them.

Source: the annotation is the paper's; the check is our own.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.phases import kinds_of
from backends.acrobat.core.reach import reached
from backends.acrobat.core.span import Span
from backends.acrobat.core.types import ListT, TupleT
from backends.acrobat.errors import Problem
from backends.acrobat.ir.nodes import (
    Call,
    Expr,
    Field,
    Fold,
    Function,
    Host,
    If,
    Item,
    Launch,
    ListOf,
    Loop,
    Map,
    Match,
    Op,
    Program,
    Tuple,
    Var,
)
from backends.acrobat.ir.visitor import binders, bodies, lets, operands, walk

Say = Callable[[Problem], None]
Path = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Component:
    """Names component `index` of the tuple in the variable `whole`, if no variable of the function holds that component."""

    whole: str
    index: int


_Name: TypeAlias = str | _Component
"""The name of a value: the variable that holds it or, without one, the tuple variable and component that it is."""
Seen = frozenset[tuple[str, _Name | None]]
"""What is being resolved already, so that recursion ends: (function, list), and (function, None) for a call of it."""

ADVICE = "leave `parallel` out, or compute each from what was there before: what is independent runs side by side without it"
LONG = 6
"""Chains with more steps are shortened in the middle."""


def dependent(program: Program, graph: CallGraph) -> list[Problem]:
    """A problem, with its place in the source and advice, for each `parallel` whose arguments or elements use each other."""
    whole = _ProgramDependences(program, graph)
    return [problem for name in program.functions for problem in whole.of(name).problems()]


@dataclass(frozen=True, slots=True)
class _ListPart:
    """A part of a list: an element, or a list that is not resolved further. `path`: the arms that it stands in, as (`id` of the
    branch, number of the arm). `outside`: the function was given the part, so it was computed before."""

    name: _Name
    span: Span
    path: Path
    outside: bool

    def excludes(self, other: _ListPart) -> bool:
        """Whether the two parts stand in different arms of one branch, so that no list has both."""
        arms = dict(other.path)
        return any(arms.get(choice, branch) != branch for choice, branch in self.path)


class _ProgramDependences:
    """The dependences in each function of the program, and between the components of each function's result."""

    def __init__(self, program: Program, graph: CallGraph) -> None:
        self._program = program
        self._kinds = kinds_of(program, graph)
        self._functions: dict[str, _Dependences] = {}
        self._chains: dict[tuple[str, int, int], list[str] | None] = {}

    def of(self, name: str) -> _Dependences:
        if name not in self._functions:
            self._functions[name] = _Dependences(self, self._program.functions[name])
        return self._functions[name]

    def works(self, expr: Expr) -> bool:
        """Whether the node is a tensor operation, a wait, or a call that leads to tensor work."""
        return isinstance(expr, Item) or isinstance(expr, Op | Launch | Call) and self._kinds.works(expr)

    def component_uses(self, name: str, i: int, j: int) -> list[str] | None:
        """The steps, as text of the source, by which component `i` of the function's result comes to use component `j` or a
        part of it, or is itself a part of it; None if neither."""
        key = name, i, j
        if key not in self._chains:
            self._chains[key] = None  # the answer for the function's calls of itself, while it is looked at
            f = self.of(name)
            targets = {t for v in f.component(f.result, j) for t in f.made_of(v)}
            for start in f.component(f.result, i):
                if (chain := f.chain(start, targets, itself=True)) is not None:
                    self._chains[key] = chain
        return self._chains[key]


class _Dependences:
    """The flow of values between one function's variables. `same` maps a variable that only renames another one to that one."""

    def __init__(self, whole: _ProgramDependences, function: Function) -> None:
        self._whole = whole
        self.function = function
        self.result = function.body
        self.same: dict[str, str] = {}
        self.values: dict[_Name, Expr] = {}
        self._sources: dict[str, tuple[str, ...]] = {}  # what the elements of a list, or the fields of a union, come from
        self._carried: dict[_Name, tuple[Fold | Loop, int]] = {}
        self._loops: dict[_Name, tuple[int, ...]] = {}  # the loops, from outside in, in whose bodies a variable is bound
        self._markers: list[tuple[Host, tuple[int, ...]]] = []
        self._spans: dict[str, Span] = {}
        numbers: dict[object, str] = {}
        for p in function.params:
            self._bound(p, ())
        self._scan(function.body, (), numbers)

    # ---- reading the function

    def _bound(self, var: Var, loops: tuple[int, ...]) -> None:
        self._loops[var.name] = loops
        self._spans.setdefault(var.name, var.span)

    def _scan(self, expr: Expr, loops: tuple[int, ...], numbers: dict[object, str]) -> None:
        bindings, tail = lets(expr)
        for var, value in bindings:
            self._spans[var.name] = value.span
            self._bound(var, loops)
            self.values[var.name] = value
            self._inside(value, loops, numbers)
            if isinstance(value, Var):
                self.same[var.name] = self.name(value)
            elif isinstance(value, Field | Host):
                known = self._known(value)
                key = (type(value), getattr(value, "op", None) or value.index, tuple(map(self._key, operands(value))))  # type: ignore[union-attr]
                self.same[var.name] = known or numbers.setdefault(key, var.name)
        self._inside(tail, loops, numbers)

    def _key(self, atom: Expr) -> object:
        return self.name(atom) if isinstance(atom, Var) else atom

    def _known(self, value: Field | Host) -> str | None:
        """The variable whose value a field or a marker always has, if there is one."""
        if isinstance(value, Field) and isinstance(value.value, Var):
            whole = self.values.get(self.name(value.value))
            items = whole.items if isinstance(whole, Tuple) else whole.args if _is_parallel(whole) else ()  # type: ignore[union-attr]
            if items and isinstance(item := items[value.index], Var):
                return self.name(item)
        if (
            isinstance(value, Host)
            and value.op in ("phase", "parallel")
            and len(value.args) == 1
            and isinstance(value.args[0], Var)
        ):
            return self.name(value.args[0])
        return None

    def _inside(self, expr: Expr, loops: tuple[int, ...], numbers: dict[object, str]) -> None:
        match expr:
            case Host("parallel"):
                self._markers.append((expr, loops))
            case Map(var, iterable) | Fold(var, iterable):
                self._sources[var.name] = self._names([iterable])
                self._bound(var, loops if isinstance(expr, Map) else (*loops, id(expr)))
            case Match(value, arms):
                for var in (v for arm in arms for v in arm.vars):
                    self._sources[var.name] = self._names([value])
                    self._bound(var, loops)
        if isinstance(expr, Fold | Loop):
            loops = (*loops, id(expr))
            for i, var in enumerate(expr.vars):
                self._carried[var.name] = expr, i
                self._bound(var, loops)
        for body in bodies(expr):
            self._scan(body, loops, numbers)

    def name(self, var: Var) -> str:
        return self.same.get(var.name, var.name)

    def _names(self, exprs: Sequence[Expr]) -> tuple[str, ...]:
        return tuple(self.name(e) for e in exprs if isinstance(e, Var))

    # ---- dependence

    def component(self, expr: Expr, i: int | None) -> list[_Name]:
        """The variables that component `i` of a value may be, depending on branches; with None, those that the value may be."""
        _, tail = lets(expr)
        match tail:
            case Var() if i is None:
                return [self.name(tail)]
            case Tuple(items) if i is not None:
                return [*self._names([items[i]])]
            case If() | Match():
                return [name for body in bodies(tail) for name in self.component(body, i)]
            case Fold(vars=carried) | Loop(vars=carried) if i is not None:
                return [carried[i].name]
            case Host("parallel", values) if i is not None and len(values) > 1:
                return [*self._names([values[i]])]
            case Var():
                value = self.values.get(self.name(tail))
                if isinstance(value, Tuple | If | Match | Fold | Loop) or _is_parallel(value):
                    return self.component(value, i)  # type: ignore[arg-type]
                return [self.name(tail) if i is None else self._field(tail, i)]
        return [*self._names(operands(tail))]

    def _field(self, whole: Var, i: int) -> _Name:
        """The name of component `i` of a tuple variable: the variable that holds it, or else a new `_Component`."""
        for name, value in self.values.items():
            if isinstance(value, Field) and value.index == i and self._key(value.value) == self.name(whole):
                return self.same.get(name, name) if isinstance(name, str) else name
        component = _Component(self.name(whole), i)
        assert isinstance(whole.type, TupleT)
        self.values[component] = Field(Var(self.name(whole), whole.type), i, whole.type.items[i], span=whole.span)
        self._loops[component] = self._loops[component.whole]
        return component

    def uses(self, name: _Name) -> list[tuple[_Name, int | None]]:
        """The variables that `name` is computed from directly, each with the `id` of the loop whose earlier round gave it, if
        any."""
        if name in self._carried:
            loop, i = self._carried[name]
            back = self.component(loop.body, i)
            if isinstance(loop, Loop):
                back += self.component(loop.cond, None)
            return [*((n, None) for n in self._names([loop.init[i]])), *((n, id(loop)) for n in back)]
        if name in self._sources:
            return [(n, None) for n in self._sources[name]]
        value = self.values.get(name)
        if value is None:
            return []
        found: list[_Name] = []
        if isinstance(value, Field) and isinstance(value.value, Var):
            whole = self.values.get(self.name(value.value))
            if isinstance(whole, If | Match):
                found = [*self._names(operands(whole))]
            found += self.component(value.value, value.index)
            found = [n for n in found if n != name] or [self.name(value.value)]
        elif isinstance(value, Fold | Loop):
            found = [v.name for v in value.vars]
        else:
            found = [*self._names(operands(value))]
            for body in bodies(value):
                found += (
                    self.component(body, None) if not isinstance(lets(body)[1], Tuple) else self._names(operands(lets(body)[1]))
                )
        return [(n, None) for n in found]

    def chain(self, start: _Name, targets: set[_Name], loops: tuple[int, ...] = (), itself: bool = False) -> list[str] | None:
        """The steps, as text of the source, the target's own first, by which `start` comes to use one of `targets`; None if it
        does not. `loops`: the `id`s of the loops around the marker, from outside in; what they bound in an earlier round is
        another value and does not count. `itself`: whether it counts that `start` is a target."""
        # The search is over (name, how many of `loops`, from outside in, are still in the marker's own round).
        came: dict[tuple[_Name, int], tuple[_Name, int] | None] = {(start, len(loops)): None}
        pending = [(start, len(loops))]
        while pending:
            at = pending.pop(0)
            name, rounds = at
            if name in targets and (itself or name != start) and self._common(name, loops) <= rounds:
                return self._steps_in_source(at, came)
            if (inner := self._in_call(name, targets)) is not None:
                return [*inner, *self._steps_in_source(at, came)]
            for used, back in self.uses(name):
                outer_rounds = min(rounds, loops.index(back)) if back in loops else rounds
                if (used, outer_rounds) not in came:
                    came[used, outer_rounds] = at
                    pending.append((used, outer_rounds))
        return None

    def _common(self, name: _Name, loops: tuple[int, ...]) -> int:
        """In how many of these loops a variable is bound."""
        return sum(loop in self._loops.get(name, ()) for loop in loops)

    def _in_call(self, name: _Name, targets: set[_Name]) -> list[str] | None:
        """If one call returns both `name` and a target, the steps inside the called function between these two components."""
        value = self.values.get(name)
        if not isinstance(value, Field) or not isinstance(value.value, Var):
            return None
        call = self.values.get(self.name(value.value))
        for other in (self.values.get(t) for t in targets):
            if isinstance(call, Call) and isinstance(other, Field) and self._key(other.value) == self.name(value.value):
                if other.index != value.index:
                    found = self._whole.component_uses(call.function, value.index, other.index)
                    if found is not None:
                        return found
        return None

    def _steps_in_source(self, at: tuple[_Name, int], came: dict[tuple[_Name, int], tuple[_Name, int] | None]) -> list[str]:
        """The steps of a search from `at` back to its start, as text and line of the source. `came`: the step before each."""
        spans: list[Span] = []
        step: tuple[_Name, int] | None = at
        while step is not None:
            value = self.values.get(step[0])
            if isinstance(value, Field):
                value = self._definition(value.value)
            if value is not None and not isinstance(value, Field | Tuple | If | Match | Fold | Loop) and value.span.line:
                if spans and _covers(value.span, spans[-1]):
                    spans.pop()
                if value.span not in spans:
                    spans.append(value.span)
            step = came[step]
        return [f"{source(s)} (line {s.line})" for s in spans]

    def made_of(self, name: _Name, other: _Name | None = None) -> set[_Name]:
        """The variables whose use is a use of the result `name`: itself, and parts of it that are not parts of `other` too."""
        found: set[_Name] = set()
        pending = [name]
        shared = set[_Name]() if other is None else self.made_of(other)
        while pending:
            name = pending.pop()
            if name in found:
                continue
            found.add(name)
            value = self.values.get(name)
            whole = self._definition(value.value) if isinstance(value, Field) else value
            inside: list[_Name] = []
            if isinstance(whole, If | Match | Fold | Loop):
                own = {v.name for node in walk(whole) for v in binders(node)}
                index = value.index if isinstance(value, Field) else None
                inside = [n for n in self.component(whole, index) if n in own]
            elif isinstance(value, Tuple | ListOf) or isinstance(value, Host) and value.op in ("list.append", "list.concat"):
                inside = [*self._names(operands(value))]
            pending += [n for n in inside if self._computed(n) and n not in shared]
        return found

    def _definition(self, atom: Expr) -> Expr | None:
        return self.values.get(self.name(atom)) if isinstance(atom, Var) else None

    def _computed(self, name: _Name) -> bool:
        """Whether the function computes the value itself; it does not if the value is a parameter or is read out of one."""
        value = self.values.get(name)
        if isinstance(value, Field) and isinstance(value.value, Var):
            return self._computed(self.name(value.value))
        if isinstance(value, Host):
            return any(self._computed(n) for n in self._names(value.args))
        return value is not None or name in self._carried

    # ---- lists

    def part(self, name: _Name, span: Span, path: Path = ()) -> _ListPart:
        """The value as a part of a list. `span`: its place in the source, if its definition has none."""
        value = self.values.get(name)
        own = value.span if value is not None and value.span.line else span
        return _ListPart(name, own, path, outside=not self._computed(name))

    def parts(self, name: _Name, span: Span, seen: Seen, say: Say, path: Path = ()) -> Iterator[_ListPart]:
        """The parts of a list. `seen`: lists that are being resolved already. `say` is called with problems inside the list."""
        if (self.function.name, name) in seen:
            return
        seen |= {(self.function.name, name)}

        def further(atoms: Sequence[Expr]) -> Iterator[_ListPart]:
            for n in self._names([a for a in atoms if isinstance(a.type, ListT)]):
                yield from self.parts(n, span, seen, say, path)

        def elements(atoms: Sequence[Expr]) -> Iterator[_ListPart]:
            for a in atoms:
                if isinstance(a, Var):
                    yield self.part(self.name(a), a.span, path)

        if name in self._carried:
            yield from self._of_loop(name, span, seen, say, path)
            return
        value = self.values.get(name)
        whole, index = (self._definition(value.value), value.index) if isinstance(value, Field) else (value, None)
        match whole:
            case If() | Match():
                for i, body in enumerate(bodies(whole)):
                    for n in self._ends(body, index):
                        yield from self.parts(n, span, seen, say, (*path, (id(whole), i)))
            case Call():
                yield from self._of_call(name, whole, index, span, seen, say, path)
            case Fold() | Loop() if index is not None:
                yield from self.parts(whole.vars[index].name, span, seen, say, path)
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

    def _ends(self, body: Expr, i: int | None) -> list[_Name]:
        """As `component`, but branches in which the body ends are left to `parts`, which has to know each part's arm."""
        _, tail = lets(body)
        if isinstance(tail, Var):
            value = self._definition(tail)
            if i is None or isinstance(value, Tuple):
                return self.component(tail, i)
            return [self._field(tail, i)]
        return self.component(tail, i)

    def _of_loop(self, name: _Name, span: Span, seen: Seen, say: Say, path: Path) -> Iterator[_ListPart]:
        """The parts of a list that a loop carries. If each round adds to the list, the new elements come from different rounds:
        they are dependent if the loop also carries work from round to round."""
        loop, i = self._carried[name]
        ends = self._ends(loop.body, i)
        grows = any(self._grows(n, name) for n in ends)
        for n in self._names([loop.init[i]]):
            yield from self.parts(n, span, seen, say, path if grows else (*path, (id(loop), 0)))
        for end in ends:
            new = [*self.parts(end, span, seen, say, path if grows else (*path, (id(loop), 1)))]
            for part in new if grows else ():
                if (carrying := self._carries(part.name, loop)) is not None:
                    carried, chain = carrying
                    what = f"the elements of {source(span)} are not independent: the loop in line {loop.span.line} carries"
                    say(Problem(span, f"{what} `{carried}` from one to the next, by {_joined(chain)}", ADVICE))
                    return
            yield from new

    def _grows(self, name: _Name, carried: _Name) -> bool:
        """Whether the list `name` contains the elements of the list `carried`."""
        value = self.values.get(name)
        if name == carried:
            return True
        if isinstance(value, Host) and value.op in ("list.append", "list.concat", "list.slice", "list.reverse"):
            return any(self._grows(n, carried) for n in self._names(value.args))
        whole, index = (self._definition(value.value), value.index) if isinstance(value, Field) else (value, None)
        if isinstance(whole, Fold | Loop) and index is not None:
            return any(self._grows(n, carried) for n in self._names([whole.init[index]]))
        return isinstance(whole, If | Match) and any(self._grows(n, carried) for n in self.component(whole, index))

    def _carries(self, element: _Name, loop: Fold | Loop) -> tuple[str, list[str]] | None:
        """(name, steps) of a variable of the loop by which tensor work of one round enters the element of a later one, if
        any."""
        entering = reached([element], lambda name: (n for n, _ in self.uses(name)))
        for var in loop.vars:
            if var.name not in entering:
                continue
            came: dict[tuple[_Name, int], tuple[_Name, int] | None] = {(var.name, 0): None}
            steps: list[tuple[_Name, int]] = [(var.name, 0)]
            while steps:
                at = steps.pop(0)
                for used, _ in self.uses(at[0]):
                    worked = int(at[1] or self._whole.works(self.values.get(used, var)))
                    if used == var.name and worked:
                        return _plain(var.name, loop.span), self._steps_in_source(at, came)
                    if (used, worked) not in came:
                        came[used, worked] = at
                        steps.append((used, worked))
        return None

    def _of_call(
        self, name: _Name, call: Call, index: int | None, span: Span, seen: Seen, say: Say, path: Path
    ) -> Iterator[_ListPart]:
        """The parts of a list that a call returns: parts from inside the function are checked here, its arguments are
        resolved."""
        callee = self._whole.of(call.function)
        if (call.function, None) in seen:  # a recursion
            yield self.part(name, span, path)
            return
        inner = seen | {(call.function, None)}
        parts = [p for n in callee.component(callee.result, index) for p in callee.parts(n, span, inner, say)]
        callee.check_pairs(parts, (), source(span), span, say)
        part_names = {p.name for p in parts}
        for param, arg in zip(callee.function.params, call.args, strict=True):
            if isinstance(arg, Var) and param.name in part_names:
                yield from self.parts(self.name(arg), span, seen, say, path)
        if not part_names or any(not p.outside for p in parts):
            yield self.part(name, span, path)

    # ---- the markers

    def problems(self) -> list[Problem]:
        """The problems of all `parallel` markers in the function, each once."""
        problems: dict[Problem, None] = {}

        def say(problem: Problem) -> None:
            problems.setdefault(problem)

        for marker, loops in self._markers:
            if len(marker.args) > 1:
                names = [(self.name(a), a.span) for a in marker.args if isinstance(a, Var)]
                parts = [_ListPart(name, span, (), not self._computed(name)) for name, span in names]
                self.check_pairs(parts, loops, "", marker.span, say)
            elif isinstance(marker.args[0], Var):
                xs = marker.args[0]
                parts = [*self.parts(self.name(xs), xs.span, frozenset(), say)]
                self.check_pairs(parts, loops, source(xs.span), marker.span, say)
        return list(problems)

    def check_pairs(self, parts: Sequence[_ListPart], loops: tuple[int, ...], whole: str, span: Span, say: Say) -> None:
        """Reports each part that uses another one. `whole`: the text of the list that they are parts of; empty for
        arguments."""
        for user in parts:
            for used in parts:
                if user.name == used.name or used.outside or user.excludes(used):
                    continue
                if (chain := self.chain(user.name, self.made_of(used.name, user.name), loops)) is not None:
                    head = f"the elements of {whole} are not independent: " if whole else ""
                    verb = "uses" if whole else "is not independent of"
                    say(Problem(span, f"{head}{source(user.span)} {verb} {source(used.span)}: {_joined(chain)}", ADVICE))
                    break


def _is_parallel(value: Expr | None) -> bool:
    return isinstance(value, Host) and value.op == "parallel" and len(value.args) > 1


def _covers(outer: Span, inner: Span) -> bool:
    """Whether the source text of `inner` lies within that of `outer`."""
    starts = (outer.line, outer.column) <= (inner.line, inner.column)
    return outer.file == inner.file and starts and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)


def _joined(chain: list[str]) -> str:
    if len(chain) > LONG:
        chain = [*chain[: LONG // 2], "...", *chain[-(LONG // 2) :]]
    return " -> ".join(chain)


def source(span: Span) -> str:
    """The text of a span in its file, cut at the line's end."""
    line = linecache.getline(span.file, span.line)
    end = span.end_column if span.end_line == span.line else None
    return f"`{line[span.column : end].strip()}`" + ("..." if end is None else "")


def _plain(name: str, span: Span) -> str:
    """A variable's name without the number that made it unique."""
    lines = [linecache.getline(span.file, i) for i in range(span.line, span.end_line + 1)]
    own = any(re.search(rf"\b{re.escape(name)}\b", line) for line in lines)
    return name if own else re.sub(r"_\d+$", "", name)
