"""Names whose value is of another type where a `break` or `return` leaves a loop than at the end of its rounds:

    scores, words = scores.view(-1).topk(k)     # one dimension
    if done:
        break
    scores = scores[kept].unsqueeze(1)          # two again, as each round begins

A variable of a loop has one type. Of a name that nothing reads after the loop it does not matter what it is where the loop is
left: the variable keeps the value from the start of that round. A name that may be read there has no value then, which is an
error of the instance if it is read; the loop carries beside it whether that is so.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.choices.choice import choose
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.frame.several_shapes import all_like
from backends.acrobat.frontend.evaluator.syntax.reading import is_own
from backends.acrobat.frontend.kinds import type_of, type_or_none
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import NOTHING, Value


@dataclass
class Ways:
    """The names in scope, with their values, at each end of a round that a trial has compiled."""

    on: list[dict[str, Value]] = field(default_factory=list)
    """Where the next round follows."""
    out: list[dict[str, Value]] = field(default_factory=list)
    """Where `break` or `return` leaves the loop."""

    def ends(self) -> list[dict[str, Value]]:
        """All ends."""
        return [*self.on, *self.out]

    def values(self, name: str) -> list[Value]:
        """The values of a name at all ends where it has one."""
        return [env[name] for env in self.ends() if name in env]


def type_at_ends(f: Frame, name: str, known: Sequence[Any], ways: Ways) -> tuple[Any, bool]:
    """The type that covers the `known` type of a carried name and its values at the ends of rounds; and whether that leaves out
    the ends where the loop is left, which is allowed for a local variable. Raises Mismatch."""
    try:
        return f.common([*known, *map(f.type_when_staged, all_like(f, ways.values(name), known))], numbers=True), False
    except Mismatch:
        if not is_own(f.definition, name):
            raise
    at_ends = all_like(f, [env[name] for env in ways.on if name in env], known)
    return f.common([*known, *map(f.type_when_staged, at_ends)], numbers=True), True


def fits(f: Frame, value: Value | None, type: Any) -> bool:
    """Whether a value is of a type, or can become one of it."""
    have = None if value is None else type_or_none(value)
    return value is None or have is not None and f.covers(type, have, numbers=True)


def value_after(f: Frame, s: ast.For | ast.While, name: str, untyped: Value, value: Value, ways: Ways) -> Value:
    """The value of a name after a loop; it has none if `untyped`, a bool of the program, is true. `ways` are the loop's
    ends."""
    others = f.places([env[name] for env in ways.out if not fits(f, env.get(name), type_of(value))])
    where = f"where the loop of line {s.lineno} is left, and {describe(type_of(value))} elsewhere"
    f.left_otherwise[name] = f"TypeError: `{name}` is {others} {where}: give one of them another name"
    return choose(f, s, untyped, lambda: NOTHING, lambda: value)
