"""`f(*xs)` of a list whose length is known at run time only, for functions that take a fixed number of arguments."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeGuard

from backends.acrobat.frontend.evaluator.arguments import Refused
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.values import HELD, Held, Value, is_unknown, unknown


def is_spread(value: Value) -> TypeGuard[Held]:
    """Whether an argument is `*xs` of a list whose length is not known."""
    return isinstance(value, Held) and value.kind == "spread"


def taken_apart(
    f: Frame, args: Sequence[Value], places: Sequence[str], named: Collection[str], optional: Collection[str]
) -> list[Value]:
    """The arguments `args` with a `*xs` at their end as its elements, one for each of the parameters `places` that has no other
    argument; `named` are those that the call names, `optional` those with a default value. A list of another length is an
    error of the instance. Raises Refused where the number of elements is not the same for all lists that fit."""
    if not any(map(is_spread, args)):
        return list(args)
    *before, last = args
    left = [name for name in places[len(before) :] if name not in named]
    if any(map(is_spread, before)) or not left:
        raise Refused(HELD["spread"], "take the list apart first")
    if any(name in optional for name in left):
        advice = f"take the list apart first, or name the argument: `{next(name for name in left if name in optional)}=...`"
        raise Refused("a list of run-time length is given with `*` to parameters of which some have a default value", advice)
    assert isinstance(last, Held)
    if is_unknown(last.value):
        return [*before, *(unknown() for _ in left)]
    parts = f.components(last.value, len(left))
    if parts is None:
        raise Refused(HELD["spread"], "take the list apart first")
    return [*before, *parts]
