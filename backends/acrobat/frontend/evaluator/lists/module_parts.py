"""A part of a list of modules with bounds that are known at run time only, `self.layers[:depth]`: it has a length, is walked
over (`loops/some_modules.py`), and may be called if it is a part of a `Sequential`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from backends.acrobat.core.types import BOOL, INT
from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import CALLS, LENGTHS, TRUTHS, handles
from backends.acrobat.frontend.kinds import is_unknown, type_or_none
from backends.acrobat.frontend.specials import SomeOf
from backends.acrobat.frontend.types import NONE
from backends.acrobat.frontend.values import Static, Value, unknown
from backends.acrobat.library import iteration


def some_of(f: Frame, modules: tuple[Value, ...], bounds: Sequence[Value | None], in_turn: bool = False) -> Value:
    """`modules[start:stop]` with bounds that are known at run time only; `in_turn` as in `SomeOf`. Raises Refused."""
    if any(b is not None and is_unknown(b) for b in bounds):
        return unknown()
    start, stop, step = bounds
    given = [b for b in (start, stop) if b is not None]
    if step not in (None, Static(1), Static(None)) or any(type_or_none(b) not in (NONE, INT) for b in given):
        raise Refused("a slice of modules with a step takes bounds that are known at compile time")
    limits = [Static(None) if b is None else b for b in (start, stop)]
    ends = f.components(f.call_with(iteration.bounds, [Static(len(modules)), *limits, Static(1)]), 2)
    if ends is None:
        return unknown()
    first, last = ends
    return SomeOf(modules, first, f.call_with(iteration.not_before, [last, first]), in_turn)


@handles(LENGTHS, SomeOf)
def _count_of_some(f: Frame, value: SomeOf) -> Value:
    return f.host("sub", [value.stop, value.start], INT, "count")


@handles(TRUTHS, SomeOf)
def _any_of_some(f: Frame, value: SomeOf, node: ast.AST) -> Value:
    return f.host("lt", [value.start, value.stop], BOOL, "any")


@handles(CALLS, SomeOf)
def _call_of_some(f: Frame, node: ast.AST, value: SomeOf, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    if not value.in_turn or len(args) != 1 or kwargs:
        raise Refused(value.refusal, "walk over the modules in a loop")
    return f.call_with(iteration.in_turn, [value, *args], node)
