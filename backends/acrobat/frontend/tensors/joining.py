"""Tensors made of others: joined along a dimension, stacked, repeated, widened with a constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from backends.acrobat.core.types import INT, ListT, ScalarT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.broadcasting import stretched
from backends.acrobat.frontend.evaluator.lists.lengths import Array, at, is_length_of, item_type, origin_of
from backends.acrobat.frontend.evaluator.lists.mapping import flattened, mapped, stacked
from backends.acrobat.frontend.kinds import (
    is_list,
    is_number,
    is_ragged,
    is_tensor,
    is_unknown,
    known,
    retyped,
    type_of,
    type_or_none,
    variable_of,
)
from backends.acrobat.frontend.tensors.dtypes import dtype_of
from backends.acrobat.frontend.tensors.fixing import with_extents
from backends.acrobat.frontend.tensors.ints import computed, is_ints, on_host, on_host_in_parts, one, rows_of, whole
from backends.acrobat.frontend.tensors.lifting import (
    as_rows,
    axis,
    check_extent,
    dim_of,
    elementwise,
    extent_of,
    is_numbers,
    numbers,
    of_rows,
    op,
    select,
    shape,
    stack_parts,
)
from backends.acrobat.frontend.tensors.masks import as_mask, is_mask, is_one_hot, plain, whole_of
from backends.acrobat.frontend.tensors.operations import call_operation, either, operation, ragged, sure
from backends.acrobat.frontend.tensors.shapes import move, permute
from backends.acrobat.frontend.types import HeldT
from backends.acrobat.frontend.values import Held, Static, TupleV, Value, guess, unknown


def cat(f: Frame, parts: Sequence[Array], dim: int) -> Value:
    """`torch.cat` along `dim` of tensors that are known one by one; some of them may be ragged."""
    if all(not is_ragged(p) for p in parts):
        return op(f, "cat", list(parts), {"dim": dim})
    if dim and all(is_ints(p) for p in parts) and any(axis(p) != dim for p in parts) and {len(shape(p)) for p in parts} == {2}:
        if not all(is_numbers(p) and shape(p)[dim] == 1 for p in parts):  # a column beside the rows that there are
            return of_rows(mapped(f, [rows_of(f, p) for p in parts], lambda *items: cat(f, items, 0)), 0)
    extents = [shape(p)[0] for p in parts]
    if not dim and all(map(is_ints, parts)) and not all(map(is_numbers, parts)) and None not in extents:  # a row below others
        counted = [(p, i) for p, e in zip(parts, extents, strict=True) for i in range(e or 0)]
        return stack_parts(f, [select(f, p, 0, Static(i)) for p, i in counted], 0)
    if any(map(is_numbers, parts)):
        parts = [numbers(p, dim, len(shape(p)) - 1 - dim) if set(shape(p)) == {1} else _as_numbers(f, p, dim) for p in parts]
        if all(is_numbers(p) and axis(p) != dim and shape(p)[dim] == 1 for p in parts):
            return stack_parts(f, [select(f, p, dim, Static(0)) for p in parts], dim)
        others = {tuple(e for d, e in enumerate(shape(p)) if d != dim) for p in parts}
        if not all(map(is_numbers, parts)) or any(axis(p) != dim for p in parts) or len(others) > 1:
            raise Refused("`cat` of tensors of ints joins them along the extent that varies")
        lists = [retyped(p, ListT(item_type(p))) for p in parts]
        result = lists[0]
        for other in lists[1:]:
            result = f.host("list.concat", [result, other], result.type)
        sizes = [shape(p)[dim] for p in parts]
        total = None if None in sizes else sum(sizes)  # type: ignore[arg-type]
        return retyped(result, replace(parts[0].type, extent=total))
    firsts = {shape(p)[0] for p in parts}
    if dim and len(firsts) == 1 and None not in firsts and all(is_ints(p) and axis(p) == 0 for p in parts):  # edges (2, n)
        rows = [as_rows(f, p, 0) for p in parts]
        joined = of_rows(mapped(f, rows, lambda *items: cat(f, items, dim - 1)), 0)
        return retyped(joined, replace(joined.type, extent=firsts.pop()))  # type: ignore[union-attr,arg-type]
    first = min(axis(p) for p in parts if is_ragged(p))
    along = any(shape(p)[dim] is None or is_ragged(p) and axis(p) == dim for p in parts)  # the outer list's extent may be fixed
    if along and not first < dim:
        lists = [as_rows(f, p, dim) for p in parts]
        result = lists[0]
        for other in lists[1:]:
            t = f.common([type_of(result), type_of(other)])
            result = f.host("list.concat", [f.coerce(result, t), f.coerce(other, t)], t)
        return of_rows(result, dim)
    rows = [as_rows(f, p, first) for p in parts]
    return of_rows(mapped(f, rows, lambda *items: cat(f, items, dim - (dim > first))), first)


def _as_numbers(f: Frame, x: Array, dim: int) -> Value:
    """A tensor of ints whose extents but that of `dim` are 1 as a list of its ints; other tensors unchanged."""
    others = [d for d in range(len(shape(x))) if d != dim]
    if is_numbers(x) or not is_ints(x) or any(shape(x)[d] != 1 for d in others):
        return x
    for d in reversed(others):
        x = select(f, x, d, Static(0))
    for d in others:
        x = move(f, x, "unsqueeze", d)
    return x


def cat_list(f: Frame, xs: Array, dim: Value) -> Value:
    """`torch.cat` of a list whose length is known at run time only. Raises Refused."""
    item = guess(item_type(xs))
    if not is_ragged(item) and not is_tensor(item):
        raise Refused("`cat` takes a list of tensors")
    k = dim_of(dim, len(shape(item)), "cat")
    if shape(item)[k] == 1 and not is_ragged(item):
        return of_rows(mapped(f, [xs], lambda x: select(f, x, k, Static(0))), k)
    rows = flattened(f, mapped(f, [xs], lambda x: as_rows(f, x, k)))
    if (each := shape(item)[k]) is not None and not is_unknown(rows):
        f.joined_parts[variable_of(rows)] = origin_of(f, xs), each
    return of_rows(rows, k)


def stack(f: Frame, xs: Array, dim: Value) -> Value:
    """`torch.stack` of a list whose length is known at run time only. Raises Refused."""
    item = guess(item_type(xs))
    if item_type(xs) == INT or item_type(xs) == HeldT("index", INT):  # elements of tensors of ints
        return of_rows(stacked(f, mapped(f, [xs], lambda i: one(f, i))), 0)
    if isinstance(item_type(xs), ScalarT) or not (is_ragged(item) or is_tensor(item)):
        raise Refused("`stack` takes a list of tensors")
    k = dim_of(dim, len(shape(item)), "stack", extra=1)
    xs = stacked(f, xs)
    if is_ragged(item) and k > axis(item):
        return permute(f, of_rows(xs, 0), [*range(1, k + 1), 0, *range(k + 1, len(shape(item)) + 1)])
    return of_rows(xs, k)


def repeat(f: Frame, x: Array, times: Sequence[Any], expand: bool) -> Value:
    """`x.repeat(times)` or, with `expand`, `x.expand(times)`; some numbers may be known at run time only. Raises Refused."""
    if len(times) < len(shape(x)):
        raise Refused(f"`{'expand' if expand else 'repeat'}` to fewer dimensions than the tensor's {len(shape(x))}")
    for _ in range(len(times) - len(shape(x))):
        x = move(f, x, "unsqueeze", 0)
    for d, repeats in enumerate(times):
        is_known, count = known(repeats)
        extent = shape(x)[d]
        if is_known and (count == -1 or (expand and count == extent) or (not expand and count == 1)):
            continue
        if expand and extent != 1:
            if extent is None and not is_known and d != axis(x):  # the tensor's own extent
                check_extent(f, x, d, repeats)
                continue
            if extent is None and not is_known:
                if not is_length_of(f, repeats, x):
                    x = retyped(stretched(f, x, repeats), x.type)
                continue
            if extent is None and count > 1:
                rows = stretched(f, as_rows(f, x, d), Static(count))
                x = stack_parts(f, [at(f, rows, Static(i)) for i in range(count)], d)
                continue
            raise Refused("`expand` makes extents of 1 wider")
        if is_known:
            x = cat(f, [x] * count, d)
            continue
        rounds = f.host("range", [Static(0), repeats, Static(1)], ListT(INT))
        if extent == 1:
            row = select(f, x, d, Static(0))
            x = of_rows(mapped(f, [rounds], lambda _, row=row: row, "i"), d)
        else:
            rows = as_rows(f, x, d)
            x = of_rows(flattened(f, mapped(f, [rounds], lambda _, rows=rows: rows, "i")), d)
    return x


@operation("cat", "concat", "concatenate", "stack", of_tensor=False)
def _cat_or_stack(f: Frame, call: CallArguments) -> Value:
    name = "stack" if call.name == "stack" else "cat"
    is_stack = name == "stack"
    xs, dim = call.bind("tensors", "dim", dim=Static(0))
    if is_unknown(xs):
        return unknown()
    if (flags := _of_flags(f, name, xs, dim)) is not None:
        return flags
    if is_list(xs) and f.display(xs) is None:  # a list whose length is known at run time only
        return stack(f, xs, dim) if is_stack else cat_list(f, xs, dim)
    items = _tensors_of(f, xs, name)
    if any(map(is_unknown, items)):
        return unknown()
    for of, other, makes in (
        (torch.bool, torch.int64, "long"),
        (torch.bool, torch.float32, "float"),
        (torch.int64, torch.float32, "float"),
    ):
        if {of, other} <= {dtype_of(x) for x in items}:  # as in Python, those of the one are the other beside it
            items = [call_operation(f, makes, CallArguments(makes, [x], {})) if dtype_of(x) == of else x for x in items]
    if is_stack and all(is_number(x) or isinstance(x, Held) for x in items):
        return stack_parts(f, [one(f, x) for x in items], 0)
    if not is_stack and any(map(is_ints, items)):
        items = [on_host_in_parts(f, x) if computed(x) and shape(x) else on_host(f, x) for x in items]
    some_ragged = any(map(is_ragged, items))
    if not is_stack and some_ragged and len({len(shape(x)) for x in items}) > 1:
        raise Refused("`cat` takes tensors of one rank, not " + " and ".join(describe(type_of(x)) for x in items))
    d = dim_of(dim, len(shape(items[0])), name, extra=is_stack)
    if not some_ragged:
        return op(f, name, items, {"dim": d})
    return cat(f, [move(f, x, "unsqueeze", d) for x in items] if is_stack else items, d)


def _of_flags(f: Frame, name: str, xs: Any, dim: Value) -> Value | None:
    """`stack` or `cat` of masks, or of what `one_hot` gave; None for other values."""
    inner: Value
    if is_list(xs) and isinstance(item_type(xs), HeldT) and item_type(xs).kind in ("mask", "ones"):
        of, inner = item_type(xs).kind, mapped(f, [xs], plain)
    else:
        parts = [whole_of(f, v) for v in f.components(xs) or f.display(xs) or []]
        if any(map(is_mask, parts)):
            parts = [as_mask(f, v) for v in parts]
        if not parts or not (all(map(is_mask, parts)) or all(map(is_one_hot, parts))):
            return None
        of, inner = "mask" if is_mask(parts[0]) else "ones", TupleV(tuple(map(plain, parts)))
    result = call_operation(f, name, CallArguments(name, [inner, dim], {}))
    return result if is_unknown(result) else Held(of, result)


def _tensors_of(f: Frame, value: Any, name: str) -> list[Any]:
    """The tensors of a tuple or list whose length is known at compile time."""
    parts = f.components(value) if not isinstance(value, TupleV) else list(value.items)
    items = parts or f.display(value)
    items = [whole(f, sure(f, v)) for v in items] if items else items
    if not items and isinstance(type_or_none(value), ListT) and not is_unknown(value):
        raise Refused(
            f"`{name}` of a list whose length is known at run time only",
            "sum such a list, or take a list whose elements are written out",
        )
    if not items or not all(is_tensor(v) or is_ragged(v) or is_unknown(v) or name == "stack" and is_ints(v) for v in items):
        raise Refused(f"`{name}` takes a tuple or list of tensors")
    return items


@operation("repeat")
def _repeat(f: Frame, call: CallArguments) -> Value:
    return repeat(f, call.args[0], f.spread([*call.args[1:], *call.kwargs.values()]), False)


@operation("expand", "broadcast_to")
def _expand(f: Frame, call: CallArguments) -> Value:
    return repeat(f, call.args[0], f.spread([*call.args[1:], *call.kwargs.values()]), True)


@ragged("repeat", "expand", "broadcast_to")
def _repeat_ragged(f: Frame, c: CallArguments) -> Value | None:
    return repeat(f, c.args[0], f.spread([*c.args[1:], *c.kwargs.values()]), c.name != "repeat")


@either("expand_as")
def _expand_as(f: Frame, call: CallArguments) -> Value:
    x, other = call.bind("input", "other")
    have, target = shape(x), shape(other)
    if len(have) > len(target) or any(
        w == 1 and h not in (1, None) for h, w in zip(reversed(have), reversed(target), strict=False)
    ):
        raise Refused("`expand_as` makes extents of 1 wider")
    x = with_extents(f, x, [1 if e == 1 else None for e in target[len(target) - len(have) :]], "as `expand_as` takes it")
    if is_ints(x):  # its elements are numbers of the host, and stay such
        ahead = len(target) - len(have)
        own = [None if d < ahead or have[d - ahead] == 1 else Static(-1) for d in range(len(target))]
        return repeat(f, on_host(f, x), [extent_of(f, other, d) if e is None else e for d, e in enumerate(own)], True)
    return elementwise(f, [x, other], lambda v: repeat(f, v[0], [Static(e) for e in shape(v[1])], True), [0])
