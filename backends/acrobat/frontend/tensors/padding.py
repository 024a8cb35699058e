"""`F.pad`: parts of a number before and behind a tensor's own, how many may be known at run time only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from backends.acrobat.core.types import INT, ListT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, constant, is_constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import Array, item_type
from backends.acrobat.frontend.evaluator.tables import handles
from backends.acrobat.frontend.kinds import is_number, is_ragged, is_unknown, known, retyped, type_of, type_or_none
from backends.acrobat.frontend.tensors.ints import MOVES, computed, is_ints, on_host_in_parts
from backends.acrobat.frontend.tensors.joining import cat
from backends.acrobat.frontend.tensors.lifting import as_rows, axis, extent_of, is_numbers, of_rows, over_rows, shape
from backends.acrobat.frontend.tensors.making import full_of
from backends.acrobat.frontend.tensors.operations import either
from backends.acrobat.frontend.tensors.parts import sliced
from backends.acrobat.frontend.values import Static, TupleV, Value, unknown
from backends.acrobat.library import moving
from backends.acrobat.library import padding as own_parts


def padded(f: Frame, x: Array, dim: int, before: Value, after: Value, value: float) -> Value:
    """The tensor with `before` and `after` parts of a number added along a dimension; negative counts remove own parts."""
    if is_ragged(x) and axis(x) != dim:
        return over_rows(f, x, axis(x), lambda row: padded(f, row, dim - (dim > axis(x)), before, after, value))
    row = [extent_of(f, x, i) for i in range(len(shape(x))) if i != dim]
    counts = [known(count)[1] for count in (before, after)]
    if None in counts or is_ragged(x) and min(counts) < 0:  # the tensor may have fewer parts than are removed
        filler: Value = full_of(f, TupleV(tuple(row)), value)
        rows = as_rows(f, x, dim)
        filler = f.coerce(filler, item_type(rows))
        return of_rows(f.call_with(moving.rows_padded, [rows, filler, before, after]), dim)
    if min(counts) < 0:
        x = sliced(f, x, dim, Static(max(-counts[0], 0)), None if counts[1] >= 0 else Static(counts[1]))

    def filled(count: int) -> list[Any]:
        return [full_of(f, TupleV((*row[:dim], Static(count), *row[dim:])), value)] if count > 0 else []

    parts = [*filled(counts[0]), x, *filled(counts[1])]
    return x if len(parts) == 1 else cat(f, parts, dim)


def _ints_padded(f: Frame, x: Array, dim: int, before: Value, after: Value, value: float) -> Value:
    """As `padded`, of a tensor of ints, along its dimension that is more than 1."""
    if value != int(value):
        raise Refused("a tensor of ints is filled with an int", "write an int as the `value` of `pad`")
    if not is_numbers(x) or axis(x) != dim:
        raise Refused(f"`pad` of {describe(type_of(x))} along this dimension is not in the language", "pad each of its rows")
    rows = retyped(x, ListT(INT))
    padded = f.call_with(moving.rows_padded, [rows, Static(int(value)), before, after])
    return padded if is_unknown(padded) else retyped(padded, replace(x.type, extent=None))  # type: ignore[arg-type,union-attr]


@either("pad", "_pad")
def _padded(f: Frame, call: CallArguments) -> Value:
    x, sizes, mode, value = call.bind("input", "pad", "mode", "value", mode=Static("constant"), value=Static(0.0))
    how = constant(mode, "the mode")
    if how != "constant":
        return _padded_with_own(f, x, constant(f.static_list(sizes), "how much is added"), how)
    number = 0.0 if value == Static(None) else float(constant(value, "the value"))
    each = padded
    if computed(x) or is_ints(x):
        x, each = on_host_in_parts(f, x), _ints_padded
    for k, (before, after) in enumerate(_counts(f, sizes)):
        if before == after == Static(0):
            continue
        if is_unknown(x) or is_unknown(before) or is_unknown(after):
            return unknown()
        x = each(f, x, len(shape(x)) - 1 - k, before, after, number)
    return x


def _counts(f: Frame, sizes: Value) -> list[tuple[Value, Value]]:
    """How many parts are added before and behind along each dimension, from the last one on. Raises Refused."""
    whole = f.static_list(sizes)
    counts = f.components(whole)
    if counts is None or len(counts) % 2:
        raise Refused("`pad` takes a tuple of two ints for each dimension, from the last one on", "write the tuple in the call")
    counts = [Static(constant(c, "")) if is_constant(c) else c for c in counts]
    wrong = next((c for c in counts if type_or_none(c) != INT and not is_unknown(c)), None)
    if wrong is not None:
        raise Refused(f"`pad` takes ints, not {describe(type_or_none(wrong))}", "write int(...)" if is_number(wrong) else "")
    return list(zip(counts[::2], counts[1::2], strict=True))


handles(MOVES, "pad", "_pad")(lambda f, x, call: _padded(f, call))


def _padded_with_own(f: Frame, x: Any, sizes: Sequence[int], mode: str) -> Value:
    """`pad` with parts of the tensor itself: numbers of parts before and behind it along the last dimension, then along those
    before it."""
    rank = len(shape(x))
    if mode not in ("replicate", "reflect", "circular") or len(sizes) not in (2, 4) or rank <= len(sizes) // 2:
        raise Refused(f"`pad` in the mode {mode} by {tuple(sizes)} of a tensor of rank {rank} is not in the language")
    if computed(x) or is_ints(x):
        raise Refused(f"`pad` of ints in the mode {mode} is not in the language", "index the tensor by a list of places")
    for k in range(len(sizes) // 2):
        numbers = (rank - 1 - k, sizes[2 * k], sizes[2 * k + 1])
        x = f.call_with(own_parts.padded, [x, *map(Static, numbers), Static(mode)])
    return x
