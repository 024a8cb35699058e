"""Operations that make tensors of a shape that is given: `zeros`, `full`, `arange` and the like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from backends.acrobat.core.types import BOOL, FLOAT, INT, ListT
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, constant, is_constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.kinds import is_number, known, retyped, type_or_none, variable_of
from backends.acrobat.frontend.tensor_types import ints_of_shape
from backends.acrobat.frontend.tensors.dtypes import as_floats, of_bools, one_or_zero
from backends.acrobat.frontend.tensors.ints import arranged, computed, elements, extents_of, is_ints
from backends.acrobat.frontend.tensors.lifting import (
    ADDS_NOTHING,
    elementwise,
    extent_of,
    numbers,
    of_rows,
    op,
    shape,
    shape_of,
)
from backends.acrobat.frontend.tensors.operations import either, operation, ragged
from backends.acrobat.frontend.tensors.windows import size_of_window
from backends.acrobat.frontend.values import Dyn, Held, Static, TupleV, Value
from backends.acrobat.library import sampling


def full_of(f: Frame, shape: Any, value: float) -> Dyn:
    """A tensor filled with a number. `shape` is an int or a tuple of ints, some of which may be known at run time only."""
    if isinstance(shape, Dyn) or isinstance(shape, TupleV) and not all(is_constant(v) for v in shape.items):
        entries = [shape] if isinstance(shape, Dyn) else list(shape.items)
        return _full_ragged(f, entries, value)
    extent = constant(shape, "the shape")
    return op(f, "full", [], {"shape": (extent,) if isinstance(extent, int) else tuple(extent), "value": value}, "constant")


def _full_ragged(f: Frame, entries: list[Any], value: float) -> Dyn:
    """A tensor filled with a number; some of the extents in `entries` may be known at run time only."""
    k = next((i for i, e in enumerate(entries) if not is_constant(e)), None)
    if k is None:
        return full_of(f, TupleV(tuple(entries)), value)
    counts = f.host("range", [Static(0), entries[k], Static(1)], ListT(INT))
    rest = entries[:k] + entries[k + 1 :]
    if all(map(is_constant, rest)):
        return of_rows(mapped(f, [counts], lambda _: _full_ragged(f, rest, value), "i"), k)  # type: ignore[return-value]
    row = _full_ragged(f, rest, value)  # before the map, so that it is known how long all are, also where there is none
    return of_rows(mapped(f, [counts], lambda _: row, "i"), k)  # type: ignore[return-value]


def _filled(f: Frame, call: CallArguments, value: float) -> Value:
    if call.kwargs.get("dtype") in (Static(torch.bool), Static(torch.int64), Static(torch.long)):
        return _host_filled(f, call, value)
    remove_placement(call)
    if len(call.args) == 1:
        return full_of(f, f.static_list(call.args[0]), value)
    return full_of(f, TupleV(tuple(call.args)), value)


def _host_filled(f: Frame, call: CallArguments, value: Any) -> Value:
    """A tensor of ints, or a one-dimensional one of bools, filled with a number, which the program has as a list."""
    sizes = f.spread(call.args)
    of_bools = call.kwargs["dtype"] == Static(torch.bool)
    is_known, number = (True, value) if isinstance(value, (int, float)) else known(value)
    item: Value = value
    if is_known:
        item = Static(bool(number)) if of_bools else Static(int(number))
    if not sizes and not of_bools:
        return Held("index", item)
    wider = [i for i, e in enumerate(sizes) if known(e) != (True, 1)] or [len(sizes) - 1]
    extents = [known(e)[1] if known(e)[0] else e for e in sizes]
    if len(wider) != 1 and of_bools:
        filled = full_of(f, TupleV(tuple(sizes)), float(bool(number)) if is_known else ADDS_NOTHING)
        return Held("mask", filled if is_known else op(f, "add", [filled, one_or_zero(f, item)]))
    if len(wider) != 1:
        rows = f.host("range", [Static(0), sizes[0], Static(1)], ListT(INT))
        row = CallArguments(call.name, [TupleV(tuple(sizes[1:]))], call.kwargs)
        type = ints_of_shape(tuple(e if isinstance(e, int) else None for e in extents))
        return retyped(mapped(f, [rows], lambda _: _host_filled(f, row, value), "i"), type)
    counts = f.host("range", [Static(0), sizes[wider[0]], Static(1)], ListT(INT))
    flat = mapped(f, [counts], lambda _: item, "i")
    if of_bools:
        return numbers(flat, wider[0], len(sizes) - 1 - wider[0])
    return arranged(f, flat, extents)


def remove_placement(call: CallArguments) -> None:
    """Remove `dtype` and `device` from a call's arguments, since tensors are float32. Raises Refused for other dtypes."""
    dtype = call.kwargs.pop("dtype", Static(None))
    call.kwargs.pop("device", None)
    if dtype != Static(None) and constant(dtype, "dtype") in (torch.float16, torch.bfloat16, torch.float64):
        raise Refused(
            f"tensors are float32 here, not {str(constant(dtype, 'dtype')).removeprefix('torch.')}", "leave `dtype` out"
        )
    if dtype != Static(None) and not constant(dtype, "dtype").is_floating_point:
        raise Refused(f"`{call.name}` makes tensors of floats here")


# ---- the operations


@operation("zeros", "empty", of_tensor=False)
def _zeros(f: Frame, call: CallArguments) -> Value:
    return _filled(f, call, 0.0)


@operation("ones", of_tensor=False)
def _ones(f: Frame, call: CallArguments) -> Value:
    return _filled(f, call, 1.0)


@operation("full", of_tensor=False)
def _full(f: Frame, call: CallArguments) -> Value:
    dtype = call.kwargs.pop("dtype", Static(None))
    call.kwargs.pop("device", None)
    size, value = call.bind("size", "fill_value")
    if dtype == Static(None):
        dtype = Static({INT: torch.int64, BOOL: torch.bool}.get(type_or_none(value)))
    if dtype in (Static(torch.int64), Static(torch.bool)):
        return _host_filled(f, CallArguments(call.name, [size], {"dtype": dtype}), value)
    remove_placement(CallArguments(call.name, [], {"dtype": dtype}))
    is_known, number = known(value)
    if is_known:
        return full_of(f, f.static_list(size), float(number))
    return op(f, "add", [full_of(f, f.static_list(size), ADDS_NOTHING), f.coerce(value, FLOAT)])


@operation("arange", of_tensor=False)
def _arange(f: Frame, call: CallArguments) -> Value:
    """`torch.arange` of ints, which the program has as a list of ints; floats are made of these where `dtype` says so."""
    dtype = call.kwargs.get("dtype", Static(None))
    floats = dtype != Static(None) and constant(dtype, "dtype").is_floating_point
    remove_placement(CallArguments(call.name, [], {k: v for k, v in call.kwargs.items() if floats or k == "device"}))
    bounds = [v for v in call.args if v is not None]
    start, stop, step = ([Static(0), *bounds, Static(1)] if len(bounds) == 1 else [*bounds, Static(1)])[:3]
    if not all(is_number(v) and type_or_none(v) == INT for v in (start, stop, step)):
        raise Refused("`arange` takes ints here")
    ints = f.host("range", [start, stop, step], ListT(INT))
    count = len(f.builder.ranges.get(variable_of(ints), ())) or _counted(f, start, stop, step)
    result = arranged(f, ints, [count]) if count else of_rows(ints, 0)
    return as_floats(f, result) if floats else result


def _counted(f: Frame, start: Value, stop: Value, step: Value) -> int:
    """How many ints there are from `start` on, where these bounds of run time say it, as `t` and `t + 3` do; else 0."""
    return size_of_window(f, start, stop) if known(step) == (True, 1) else 0


@operation("linspace", of_tensor=False)
def _linspace(f: Frame, call: CallArguments) -> Value:
    remove_placement(call)
    bounds = call.bind("start", "end", "steps")
    if not all(map(is_constant, bounds)):
        return f.call_with(sampling.spaced, bounds)
    start, end, steps = (constant(v, "an argument of `linspace`") for v in bounds)
    last = max(steps - 1, 1)
    numbers = [op(f, "full", [], {"shape": (), "value": start + (end - start) * i / last}) for i in range(steps)]
    return op(f, "stack", numbers, {"dim": 0})


@either("full_like")
def _filled_like(f: Frame, call: CallArguments) -> Value:
    of_ints = "dtype" not in call.kwargs
    remove_placement(call)
    x, value = call.bind("input", "fill_value")
    is_known, number = known(value)
    if of_ints and of_bools(x):
        return elementwise(f, [x], lambda v: f.coerce(value, BOOL))
    if is_ints(x) or of_ints and computed(x):
        have: Sequence[Any] = shape(x) if computed(x) else extents_of(f, x)
        if all(isinstance(e, int) for e in have) and sum(e != 1 for e in have) <= 1:
            return arranged(f, elements(f, Held("ids", TupleV((f.coerce(value, INT),) * math.prod(have)))), have)
        return elementwise(f, [x], lambda v: f.coerce(value, INT))
    result = elementwise(
        f, [x], lambda v: op(f, "full", [], {"shape": shape(v[0]), "value": float(number) if is_known else ADDS_NOTHING})
    )
    return result if is_known else op(f, "add", [result, f.coerce(value, FLOAT)])


@operation("zeros_like", "empty_like")
def _zeros_like(f: Frame, call: CallArguments) -> Value:
    return _full_like(f, call, 0.0)


@operation("ones_like")
def _ones_like(f: Frame, call: CallArguments) -> Value:
    return _full_like(f, call, 1.0)


def _full_like(f: Frame, call: CallArguments, value: float) -> Value:
    if computed(call.args[0]):
        call.kwargs.setdefault("dtype", Static(torch.int64))
    if call.kwargs.get("dtype") in (Static(torch.bool), Static(torch.int64)):
        return _host_filled(f, CallArguments(call.name, [Static(shape_of(call.args[0]))], call.kwargs), value)  # type: ignore[arg-type]
    remove_placement(call)
    (x,) = call.bind("input")
    return full_of(f, Static(shape_of(x)), value)


@ragged("zeros_like", "empty_like", "ones_like")
def _like_ragged(f: Frame, c: CallArguments) -> Value | None:
    value = 1.0 if c.name == "ones_like" else 0.0
    if of_bools(c.args[0]):
        c.kwargs.setdefault("dtype", Static(torch.bool))
    if computed(c.args[0]):
        c.kwargs.setdefault("dtype", Static(torch.int64))
    if c.kwargs.get("dtype") in (Static(torch.bool), Static(torch.int64)):
        sizes = TupleV(tuple(extent_of(f, c.args[0], d) for d in range(len(shape(c.args[0])))))
        return _host_filled(f, CallArguments(c.name, [sizes], c.kwargs), value)
    if is_ints(c.args[0]) and "dtype" not in c.kwargs:
        return elementwise(f, c.args[:1], lambda v: Static(int(value)))
    return elementwise(f, c.args[:1], lambda v: op(f, "full", [], {"shape": shape(v[0]), "value": value}))


@operation("new", "new_empty", "new_zeros", of_tensor=False)
def _new_zeros(f: Frame, call: CallArguments) -> Value:
    return _filled(f, _new(call), 0.0)


def _new(call: CallArguments) -> CallArguments:
    """The call behind the tensor whose dtype the new one takes."""
    dtype = {"dtype": Static(torch.int64)} if is_ints(call.args[0]) else {}
    return CallArguments(call.name, call.args[1:], {**dtype, **call.kwargs})


@operation("new_ones", of_tensor=False)
def _new_ones(f: Frame, call: CallArguments) -> Value:
    return _filled(f, _new(call), 1.0)


@operation("new_full", of_tensor=False)
def _new_full(f: Frame, call: CallArguments) -> Value:
    return _full(f, _new(call))
