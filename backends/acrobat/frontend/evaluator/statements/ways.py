"""The ways through statements that may be left early, where there are many.

What follows such a statement is compiled in each of its arms that goes on, where most is known about the values. A statement
with two such arms doubles what follows, so a row of them, or the rounds of an unrolled loop, would grow exponentially. From
`MANY` copies on, the arms are merged: a hidden number says how the statement was left, and each thing that may follow it is
compiled once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from backends.acrobat.frontend.evaluator.choices.choice import open_optional
from backends.acrobat.frontend.evaluator.conditions.conditions import decide
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.loops.loops import keep_returned, nothing_returned
from backends.acrobat.frontend.evaluator.loops.variables import note_type_of_result
from backends.acrobat.frontend.evaluator.statements.merging import Body, merging
from backends.acrobat.frontend.evaluator.syntax.bodies import leaves, returns
from backends.acrobat.frontend.evaluator.syntax.hidden_names import RETURNED, hidden
from backends.acrobat.frontend.evaluator.tables import Exits
from backends.acrobat.frontend.kinds import is_unknown, known
from backends.acrobat.frontend.types import contains_unknown
from backends.acrobat.frontend.values import Dyn, Static, Value

MANY = 16
"""So many copies of what follows a statement are compiled at most."""


def going_on(body: Sequence[ast.stmt]) -> int:
    """The number of ways through a body to its end, or to `continue`."""
    return sum(_ways(body))


def _ways(body: Sequence[ast.stmt]) -> tuple[int, int]:
    """The number of ways through a body to its end, and of those to `continue`."""
    falls, continues = 1, 0
    for s in body:
        if leaves(s):
            through, to_next = _ways_of(s)
            falls, continues = falls * through, continues + falls * to_next
    return falls, continues


def _ways_of(s: ast.stmt) -> tuple[int, int]:
    match s:
        case ast.Return() | ast.Raise() | ast.Break():
            return 0, 0
        case ast.Continue():
            return 0, 1
        case ast.If(_, body, orelse):
            arms = [_ways(body), _ways(orelse)]
        case ast.Match(_, cases):
            arms = [*(_ways(c.body) for c in cases), (1, 0)]
        case ast.With(_, body):
            return _ways(body)
        case _:
            return 1, 0
    return sum(falls for falls, _ in arms), sum(continues for _, continues in arms)


def _each(exits: Exits, leave: Callable[[str], Value], returned: Callable[[ast.AST, Value], Value]) -> Exits:
    """Exits that are `leave` of the way in which a statement is left, where `exits` has that one, and `returned`."""
    breaks = None if exits.breaks is None else lambda: leave("breaks")
    continues = None if exits.continues is None else lambda: leave("continues")
    return Exits(lambda: leave("falls"), returned, breaks, continues)


def _find_result(f: Frame, compiled: Callable[[Exits], Value], exits: Exits) -> None:
    """Find the type of the function's result by what `compiled`, as for `merged`, returns."""

    def returned(at: ast.AST, value: Value) -> Value:
        note_type_of_result(f, at, value)
        return Static(0)

    with f.trial():
        compiled(_each(exits, lambda how: Static(0), returned))


def merged(f: Frame, s: ast.stmt, compiled: Callable[[Exits], Value], exits: Exits) -> Value | None:
    """What `compiled(exits)` gives, the value of the statement `s` or of a round of it, which may be left early, with each of
    `exits` compiled once. None, and nothing is compiled, in a function that gives a function and inside of a `try`."""
    if f.in_place or exits.raises is not None:
        return None
    gives = returns(s)
    if gives and contains_unknown(f.result):
        _find_result(f, compiled, exits)
    if gives and contains_unknown(f.result):
        f.program.incomplete, gives = True, False  # what is returned is found when more is known
    follows = {"falls": exits.fall, "continues": exits.continues, "breaks": exits.breaks}
    numbers = {"falls": 0, "continues": 0 if exits.continues is exits.fall else 1, "breaks": 2, "returns": 3}
    way = hidden("way", s)
    left_by: set[str] = set()

    def branch(arm: Callable[[Body], Value]) -> Value:
        def leave(how: str) -> Value:
            left_by.add(how)
            f.env[way] = Static(numbers[how])
            return arm([])

        def returned(at: ast.AST, value: Value) -> Value:
            failed = keep_returned(f, at, value) if gives else None
            return leave("returns") if failed is None else failed

        return compiled(_each(exits, leave, returned))

    outer = f.env.get(RETURNED)
    if gives:
        f.env[RETURNED] = nothing_returned(f)
    merging(f, s, branch, also=(way, RETURNED) if gives else (way,))
    number, result = f.env.pop(way), f.env.pop(RETURNED, None)
    if outer is not None:
        f.env[RETURNED] = outer
    ways = {numbers[how]: go_on for how, go_on in follows.items() if how in left_by and go_on is not None}

    def follow(which: Sequence[int]) -> Value:
        first, *others = which
        if not others:
            return ways[first]()
        test = ast.copy_location(ast.Compare(CompiledNode(number), [ast.Eq()], [ast.Constant(first)]), s)
        return decide(f, s, test, ways[first], lambda: follow(others))

    if is_unknown(number) or not ways and not gives:
        return exits.fall()
    is_known, constant = known(number)
    if is_known and constant in ways:
        return ways[constant]()
    ways = ways or {numbers["falls"]: exits.fall}
    if not isinstance(result, Dyn) or is_unknown(result):
        return follow([*ways])
    return open_optional(f, s, result, lambda some: exits.returns(s, some), lambda: follow([*ways]), "result")
