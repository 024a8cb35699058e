"""Arguments and the parameters that they are bound to, `*args` and `**kwargs` too; `f(*xs)` of a list whose length is known at
run time only."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeGuard

from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.kinds import as_tuple, is_unknown
from backends.acrobat.frontend.specials import Keywords
from backends.acrobat.frontend.values import HELD, Held, TupleV, Value, unknown


class NoRoom(Refused):
    """Raised for `f(a, *xs)` where `a` is all that the function takes: the list must be empty."""


def bound(
    f: Frame,
    parameters: ast.arguments,
    call: CallArguments,
    defaults: Mapping[str, Value],
    each: Callable[[Value], Value] = lambda v: v,
) -> tuple[list[str], list[Value]]:
    """The names of a function's `parameters`, `*args` and `**kwargs` last, and the values that a call gives them; `each` is
    applied to those in `*args` and `**kwargs`. Raises Refused."""
    a, args, kwargs = parameters, call.args, call.kwargs
    places = [*a.posonlyargs, *a.args]
    names = [x.arg for x in (*places, *a.kwonlyargs)]
    if a.vararg is None:
        args = taken_apart(f, args, [x.arg for x in places], kwargs, defaults)
    rest, others = list(args[len(places) :]), {k: v for k, v in kwargs.items() if k not in names}
    if a.vararg or a.kwarg:
        args = args[: len(places)] if a.vararg else args
        kwargs = {k: v for k, v in kwargs.items() if k in names} if a.kwarg else kwargs
    if any(map(is_spread, (*args, *rest[:-1]))) or len(args) < len(places) and any(map(is_spread, rest)):
        raise Refused(HELD["spread"], "take the list apart first")
    values = CallArguments(call.name, args, kwargs, call.implicit).bind(*names, **defaults)
    if a.vararg:
        listed = rest[0].value if len(rest) == 1 and is_spread(rest[0]) else None
        if listed is None and any(map(is_spread, rest)):
            raise Refused(HELD["spread"], "give all of it as one list")
        names.append(a.vararg.arg)
        values.append(as_tuple(listed) if listed is not None else TupleV(tuple(map(each, rest))))
    if a.kwarg:
        names.append(a.kwarg.arg)
        values.append(Keywords(tuple((k, each(v)) for k, v in others.items())))
    return names, values


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
    if any(map(is_spread, before)):
        raise Refused(HELD["spread"], "take the list apart first")
    if not left:
        raise NoRoom(HELD["spread"], "take the list apart first")
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
