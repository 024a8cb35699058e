"""What a loop over `enumerate`, `zip`, `islice`, `takewhile`, `filter` or `map` of a generator does with each of its values, as
statements before and behind the body of the loop. So the loop walks over the generator alone."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from backends.acrobat.frontend.evaluator.rewriting.counting import start_and_step
from backends.acrobat.frontend.evaluator.rewriting.loops_inside import one_round
from backends.acrobat.frontend.evaluator.syntax.bodies import assigned
from backends.acrobat.frontend.evaluator.syntax.quoting import copied, quoted
from backends.acrobat.frontend.evaluator.syntax.uses import handed_on
from backends.acrobat.frontend.syntax_nodes import names_in

Walk = tuple[list[ast.stmt], list[ast.stmt]]
"""What is computed where an iterator is made, and the loop over it."""
NEGATIVE = "Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize."


@dataclass(frozen=True)
class LoopBody:
    """What a loop does with each value: it is assigned to `target`, then `body` is executed, and `after`, also where `continue`
    ends the body. `rebound` has the names to which the rounds assign."""

    target: ast.expr
    body: Sequence[ast.stmt]
    after: Sequence[ast.stmt]
    rebound: frozenset[str]

    def begun(self, target: ast.expr, first: Sequence[ast.stmt], last: Sequence[ast.stmt] = ()) -> LoopBody:
        """The same with another target, and with further statements at both ends."""
        return replace(self, target=target, body=[*first, *self.body], after=[*self.after, *last])


class Walking(Protocol):
    """What rewrites the loops of a function."""

    def fresh(self, name: str) -> str: ...

    def walk(self, whole: ast.expr, rounds: LoopBody) -> Walk | None: ...

    def calls_generator(self, node: ast.expr) -> bool: ...

    def makes_counter(self, node: ast.expr) -> bool: ...


def _of_enumerate(loops: Walking, where: ast.Call, rounds: LoopBody) -> Walk | None:
    inner, *given = [*where.args, *(k.value for k in where.keywords)]
    start = given[0] if given else ast.Constant(0)
    number, item = loops.fresh("number"), loops.fresh("item")
    first = [*_taken_apart(where, [number, item], rounds.target), *quoted(where, "n = n + 1", n=number)]
    walk = loops.walk(inner, rounds.begun(_name(item, where), first))
    return walk and ([*walk[0], *quoted(where, "number = start", number=number, start=start)], walk[1])


def _taken_apart(where: ast.expr, names: Sequence[str], target: ast.expr) -> list[ast.stmt]:
    """The assignment of a tuple of these names to a target."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    if len(parts) == len(names) and not any(isinstance(x, ast.Starred) for x in parts):
        pairs = zip(parts, names, strict=True)
        return [s for x, name in pairs for s in quoted(where, "x = name", x=copied(x), name=name)]
    row = ast.Tuple([ast.copy_location(ast.Name(x, ast.Load()), where) for x in names], ast.Load())
    return quoted(where, "target = row", target=copied(target), row=row)


def _of_zip(loops: Walking, where: ast.Call, rounds: LoopBody) -> Walk | None:
    """One argument is a generator, the others become lists: those before the generator are asked for an item before the
    generator computes one, the others after that."""
    args = where.args
    makes = [loops.calls_generator(a) for a in args]
    others = [a for a, made in zip(args, makes, strict=True) if not made and not loops.makes_counter(a)]
    if where.keywords or sum(makes) != 1 or not all(map(_is_computed_at_once, others)):
        return None
    which, at = makes.index(True), loops.fresh("at")
    items = [loops.fresh("item") for _ in args]
    early, late, first, last = list[ast.stmt](), list[ast.stmt](), list[ast.stmt](), list[ast.stmt]()
    tests = list[ast.expr]()
    for i, a in enumerate(args):
        made = early if i < which else late
        if i == which:
            continue
        if loops.makes_counter(a):
            start, step = start_and_step(a)
            names = {"number": loops.fresh("number"), "by": loops.fresh("step")}
            made += quoted(a, "number = start; by = step", start=start, step=step, **names)
            first += quoted(a, "item = number; number = number + by", item=items[i], **names)
            continue
        xs = loops.fresh("items")
        made += quoted(a, "xs = list(a)", xs=xs, a=a)
        (ends,) = quoted(a, "if at >= len(xs): break", at=at, xs=xs)
        if i < which:
            tests.append(ends.test)  # type: ignore[attr-defined]
            last.append(ends)
        else:
            first.append(ends)
        first += quoted(a, "item = xs[at]", item=items[i], xs=xs, at=at)
    first += [*quoted(where, "at = at + 1", at=at), *_taken_apart(where, items, rounds.target)]
    walk = loops.walk(args[which], rounds.begun(_name(items[which], where), first, last))
    if walk is None or _may_change(others, *walk):
        return None
    loop = walk[1]
    for test in reversed(tests):
        loop = quoted(where, "if not test: loop", test=copied(test), loop=loop)
    return [*early, *walk[0], *late, *quoted(where, "at = 0", at=at)], loop


def _is_computed_at_once(node: ast.expr) -> bool:
    """Whether an iterable has all its items where it is made, as long as nothing changes it."""
    match node:
        case ast.Call(ast.Name("range" | "sorted" | "list" | "tuple")):
            return True
        case ast.Call(ast.Attribute(attr="items" | "keys" | "values" | "tolist" | "unbind"), []):
            return True
    return isinstance(node, (ast.Name, ast.Subscript, ast.List, ast.Tuple, ast.ListComp))


def _may_change(nodes: Sequence[ast.expr], before: Sequence[ast.stmt], loop: Sequence[ast.stmt]) -> bool:
    """Whether a loop, or what is computed before it, may change what these expressions read: an iterator would show that."""
    names = {*names_in(nodes)}
    names |= {t for s in before if isinstance(s, ast.Assign) and names & {*names_in(s.value)} for t in names_in(s.targets)}
    return not names.isdisjoint(assigned(loop)) or any(handed_on(loop, x) for x in names)


def _of_islice(loops: Walking, where: ast.Call, rounds: LoopBody) -> Walk | None:
    """It asks for no value more than it takes."""
    if len(where.args) != 2:
        return None
    inner, stop = where.args
    if isinstance(stop, ast.Constant) and stop.value is None:
        return loops.walk(inner, rounds)
    names = {"taken": loops.fresh("taken"), "limit": loops.fresh("limit")}
    last = quoted(where, "taken = taken + 1\nif taken >= limit: break", **names)
    walk = loops.walk(inner, rounds.begun(rounds.target, [], last))
    if walk is None:
        return None
    negative = "" if isinstance(stop, ast.Constant) else f"\nif limit < 0: raise ValueError({NEGATIVE!r})"
    before = quoted(where, f"taken = 0\nlimit = stop{negative}", stop=stop, **names)
    return [*walk[0], *before], quoted(where, "if taken < limit: loop", loop=walk[1], **names)


def _name(name: str, where: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Store()), where)


def _of_iter(loops: Walking, call: ast.Call, rounds: LoopBody) -> Walk | None:
    return loops.walk(call.args[0], rounds) if len(call.args) == 1 else None


def _with_function(text: str) -> Callable[[Walking, ast.Call, LoopBody], Walk | None]:
    """What is done for a function of Python's that is given a function and an iterator, each `item` of which it gives to the
    function, as `text` says: what it does not take is no round of the loop, `inside`."""

    def work(loops: Walking, where: ast.Call, rounds: LoopBody) -> Walk | None:
        if len(where.args) != 2:
            return None
        function, inner = where.args
        by, item, before = text, loops.fresh("item"), list[ast.stmt]()
        if isinstance(function, ast.Constant):  # filter(None, xs)
            by = text.replace("function(item)", "item")
        elif not isinstance(function, ast.Lambda):  # it is computed once
            name = loops.fresh("function")
            before = quoted(where, "name = function", name=name, function=function)
            function = ast.copy_location(ast.Name(name, ast.Load()), function)
        inside = one_round(where, rounds.body, rounds.after, loops.fresh)
        body = quoted(where, by, function=function, item=item, target=copied(rounds.target), inside=inside)
        walk = loops.walk(inner, replace(rounds, target=_name(item, where), body=body, after=[]))
        return walk and ([*before, *walk[0]], walk[1])

    return work


GIVEN: Mapping[Any, Callable[[Walking, ast.Call, LoopBody], Walk | None]] = {
    enumerate: _of_enumerate,
    zip: _of_zip,
    itertools.islice: _of_islice,
    itertools.takewhile: _with_function("if not function(item): break\ntarget = item\ninside"),
    filter: _with_function("if function(item):\n    target = item\n    inside"),
    map: _with_function("target = function(item)\ninside"),
    iter: _of_iter,
}
"""Functions of Python's, with what gives the loop over what they give."""
