"""`view`, `reshape` and `flatten`: other extents for the same elements."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

import torch

from backends.acrobat.core.types import INT, ListT
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import Array, is_length_of, item_type, of_size, origin_of
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.kinds import is_ragged, is_unknown, known, retyped, type_or_none, variable_of
from backends.acrobat.frontend.tensors.dtypes import as_floats, dtype_of
from backends.acrobat.frontend.tensors.fixing import with_check, with_extent
from backends.acrobat.frontend.tensors.joined_extents import kept_or_joined, parts_between
from backends.acrobat.frontend.tensors.lifting import (
    as_rows,
    axis,
    check_extent,
    dim_of,
    extent_of,
    is_numbers,
    numbers,
    of_rows,
    op,
    over_rows,
    shape,
    shape_of,
)
from backends.acrobat.frontend.tensors.operations import call_operation, operation, ragged
from backends.acrobat.frontend.tensors.shapes import move
from backends.acrobat.frontend.values import Dyn, Held, Static, Value, guess, unknown
from backends.acrobat.ir import nodes as n
from backends.acrobat.library import moving


def reshape(f: Frame, x: Array, extents: Sequence[Any]) -> Value:
    """`view` and `reshape` of a ragged tensor: no element may move across the varying dimension, unless that is joined with
    others to the first one. Raises Refused."""
    extents = _as_joined(f, x, extents)
    if _keeps_first(f, x, extents):
        return _flattened(f, x, 1, len(shape(x)) - 1)
    if (grouped := _in_two(f, x, extents)) is not None:
        return grouped
    if (dense := _to_constants(f, x, extents)) is not None:
        return dense
    have = shape(x)
    k = axis(x)
    before, after = math.prod(e or 1 for e in have[:k]), math.prod(e or 1 for e in have[k + 1 :])
    if have.count(None) > 1 or before > 1 and not is_numbers(x):
        joined = _with_units(f, x, extents) or _first_ones_joined(f, x, extents) or kept_or_joined(f, x, extents)
        if joined is not None:
            return joined
    if have.count(None) > 1:
        advice = "join the first dimensions, as `view(-1)` does, or use transpose, unsqueeze or flatten its rows"
        raise Refused("a tensor of which several extents vary is not reshaped so", advice)
    if is_numbers(x):
        wider = [i for i, e in enumerate(extents) if known(e) != (True, 1)]
        if len(wider) == 1 and (known(extents[wider[0]]) == (True, -1) or _is_length(f, extents[wider[0]])):
            return numbers(x, wider[0], len(extents) - 1 - wider[0])
        raise Refused("a tensor of ints whose extent varies keeps one dimension, and others of extent 1")
    runtime = [i for i, e in enumerate(extents) if not known(e)[0]]
    if (joined := _by_quotient(f, x, extents, runtime)) is not None:
        return joined
    if len(runtime) == 1 and not _is_length(f, extents[runtime[0]]):
        if (own := _as_own_extent(f, x, extents, runtime[0])) is None:
            return _regrouped(f, x, extents, runtime[0])
        x = own
    if len(runtime) > 1 and known(extents[0]) == (True, 1):
        inner: Any = reshape(f, x, extents[1:])
        return unknown() if is_unknown(inner) else move(f, inner, "unsqueeze", 0)
    if len(runtime) > 1:
        raise Refused("an extent here is neither constant nor the tensor's own varying one", "write `x.size(0)` for that")
    fixed = [known(e)[1] for e in extents]
    if runtime:
        j = runtime[0]
        if -1 not in fixed and math.prod(e for i, e in enumerate(fixed[j:], j) if i != j) != after:
            return _regrouped(f, x, extents, j)  # the extent of another tensor
        x = retyped(of_size(f, retyped(x, ListT(item_type(x))), extents[j]), x.type)
        rest = math.prod(e for i, e in enumerate(fixed) if i != j and e != -1)
        fixed = [before * after // max(rest, 1) if e == -1 else e for e in fixed]
    elif -1 in fixed:
        j = fixed.index(-1)
    else:
        raise Refused("this shape has no place for the extent that varies", "write -1 for it")
    left, right = math.prod(fixed[:j]), math.prod(fixed[j + 1 :])
    if left == before == 1 and right != after and not runtime:
        return _regrouped(f, x, extents, j)
    if (left, right) != (before, after):
        raise Refused("`view` cannot move elements across the dimension whose extent varies")
    row = tuple(fixed[:j] + fixed[j + 1 :])
    if row == shape(guess(item_type(x))):
        return retyped(x, ListT(item_type(x), j))
    return over_rows(f, x, j, lambda part: op(f, "reshape", [part], {"shape": row}))


def _keeps_first(f: Frame, x: Array, extents: Sequence[Any]) -> bool:
    """Whether a shape is `(len(x), -1)`, for a tensor of which other extents vary too."""
    return (
        len(extents) == 2
        and len(shape(x)) > 2
        and shape(x).count(None) > 1
        and axis(x) == 0
        and known(extents[1]) == (True, -1)
        and is_length_of(f, extents[0], x)
    )


def _as_joined(f: Frame, x: Array, extents: Sequence[Any]) -> Sequence[Any]:
    """The shape `(len(xs), -1)` of what `torch.cat(xs)` has joined, with the constant that -1 is; other shapes as they are."""
    origin, each = f.joined_parts.get(variable_of(x), ("", 0))
    wanted = [known(e)[1] if known(e)[0] else None for e in extents]
    if not origin or axis(x) != 0 or shape(x).count(None) > 1 or wanted.count(None) != 1 or wanted.count(-1) != 1:
        return extents
    total, others = each * math.prod(e or 1 for e in shape(x)[1:]), -math.prod(e for e in wanted if e is not None)
    size = extents[wanted.index(None)]
    if f.lengths.get(variable_of(size)) != origin or others < 1 or total % others:
        return extents
    return [Static(total // others) if e == -1 else extents[i] for i, e in enumerate(wanted)]


def _in_two(f: Frame, x: Array, extents: Sequence[Any]) -> Value | None:
    """`x.view(n, k, width)` of rows whose number varies, with two ints of run time, of which one may be -1 or the first a
    constant above 1: n groups of k rows. None for other shapes, also where one of the two is the tensor's own extent, so that
    the other one is a constant. Of `scores.view(-1, k)` the k is taken for the own extent of `scores` unless these are known to
    come from several dimensions."""
    have = shape(x)
    last = max(i for i, e in enumerate(have) if e is None)
    width, rest = math.prod(e or 1 for e in have[last + 1 :]), [known(e)[1] for e in extents[2:]]
    first = [known(e)[1] if known(e)[0] else None for e in extents[:2]]
    if len(first) < 2 or None not in first or first[0] in (0, 1) or first[0] is None and first[1] not in (None, -1):
        return None
    if first == [None, None] and None not in rest and rest.count(-1) == 1:
        others = -math.prod(rest)
        rest[rest.index(-1)] = width // others if others > 0 and width % others == 0 else -1
    if not all(isinstance(e, int) and e > 0 for e in rest) or math.prod(rest) != width:
        return None
    several = origin_of(f, x) in f.of_several_extents
    if -1 in first and (last == axis(x) and any(is_length_of(f, e, x) for e in extents[:2]) or not rest and not several):
        return None
    rows = parts_between(f, x, 0, last)
    if is_unknown(rows):
        return unknown()
    counts = [Static(None) if e == -1 else extents[i] for i, e in enumerate(first)]
    groups = f.program.call(f, ast.Pass(), moving.rows_grouped, [rows, *counts], {})
    if is_unknown(groups):
        return unknown()

    def group(part: Any) -> Value:
        dense = not is_numbers(retyped(part, ListT(item_type(part), 0))) and shape(guess(item_type(part))) != tuple(rest)
        as_tensor = retyped(part, ListT(item_type(part), 0))
        return over_rows(f, as_tensor, 0, lambda row: op(f, "reshape", [row], {"shape": tuple(rest)})) if dense else as_tensor

    return of_rows(mapped(f, [groups], group), 0)


def _to_constants(f: Frame, x: Array, extents: Sequence[Any]) -> Value | None:
    """`x.view(1, 2, 3, 3)`: constants only, which say what the extent that varies must be, or all that vary together. None for
    other shapes."""
    have, wanted = shape(x), [known(e)[1] if known(e)[0] else -1 for e in extents]
    each, total = math.prod(e for e in have if e is not None), math.prod(wanted)
    if min(wanted, default=1) < 1 or not each or total % each:
        return None
    if have.count(None) > 1:
        varying = [d for d, e in enumerate(have) if e is None]
        rows = of_rows(parts_between(f, x, varying[0], varying[-1]), varying[0])
        return rows if is_unknown(rows) else reshape(f, rows, extents)
    if dtype_of(x) == torch.bool:
        return Held("mask", call_operation(f, "reshape", CallArguments("reshape", [as_floats(f, x), *extents], {})))
    dense = with_extent(f, x, have.index(None), total // each, f"as the shape {tuple(wanted)} takes it")
    return call_operation(f, "reshape", CallArguments("reshape", [dense, *extents], {}))


def _by_quotient(f: Frame, x: Array, extents: Sequence[Any], runtime: Sequence[int]) -> Value | None:
    """`x.reshape(x.size(0) // 2, -1)`: each two rows become one. None where no extent is divided so, or none is -1. Where
    it does not divide evenly, for which eager PyTorch raises an error or gives rows of another extent, that is an error of the
    instance."""
    left_open = [i for i, e in enumerate(extents) if known(e) == (True, -1)]
    if len(runtime) != 1 or len(left_open) != 1 or left_open[0] < runtime[0]:
        return None
    divisor = f.builder.divisors.get(variable_of(extents[runtime[0]]), 0)
    others = math.prod(int(known(e)[1]) for i, e in enumerate(extents) if i not in (*runtime, *left_open))
    width = divisor * math.prod(e or 1 for e in shape(x))
    if divisor < 1 or others < 1 or width % others or not width:
        return None
    filled = [Static(width // others) if i == left_open[0] else e for i, e in enumerate(extents)]
    return _regrouped(f, x, filled, runtime[0], some=True)


def _as_own_extent(f: Frame, x: Array, extents: Sequence[Any], j: int) -> Array | None:
    """The tensor `x` where a shape such as `(len(word), 1, -1)` takes the extent at `j` to be the one of `x` that varies: any
    other number is an error of the instance, and so is 0, of which PyTorch does not tell what -1 is. None for other shapes."""
    k, have = axis(x), shape(x)
    fixed = [known(e)[1] for i, e in enumerate(extents) if i != j]
    sides = [(math.prod(e or 1 for e in own), new) for own, new in ((have[:k], fixed[:j]), (have[k + 1 :], fixed[j:]))]
    sums = {var.name for var, e in f.builder.bindings if isinstance(e, n.Host) and e.op in ("add", "sub", "mul", "floordiv")}
    if fixed.count(-1) != 1 or 0 in fixed or variable_of(extents[j]) in sums:
        return None
    if any(size % abs(math.prod(new)) if -1 in new else size != math.prod(new) for size, new in sides):
        return None
    x = of_size(f, x, extents[j])
    text = "RuntimeError: what the extent -1 of a shape is cannot be told of a tensor with {0} rows"
    return with_check(f, "ne", extents[j], Static(0), text, lambda: x)


def _with_units(f: Frame, x: Array, extents: Sequence[Any]) -> Value | None:
    """`x.view(-1, 1, x.size(1))` and the like, where only dimensions of extent 1 are added or left out; None for other shapes.
    An extent that is known at run time only must be that of the dimension, or it is an error of the instance."""
    kept = [d for d, e in enumerate(shape(x)) if e != 1]
    wanted = [(i, known(e)[1] if known(e)[0] else None) for i, e in enumerate(extents) if known(e) != (True, 1)]
    if len(kept) != len(wanted) or [e for _, e in wanted].count(-1) > 1:
        return None
    if any(e not in (-1, None) and e != shape(x)[d] for d, (_, e) in zip(kept, wanted, strict=True)):
        return None
    for d, (i, e) in zip(kept, wanted, strict=True):
        if e is None:
            check_extent(f, x, d, extents[i])
    for d in reversed([d for d, e in enumerate(shape(x)) if e == 1]):
        x = move(f, x, "squeeze", d)
    for i in (i for i, e in enumerate(extents) if known(e) == (True, 1)):
        x = move(f, x, "unsqueeze", i)
    return x


def _first_ones_joined(f: Frame, x: Array, extents: Sequence[Any]) -> Value | None:
    """`x.view(-1)`, `x.view(n * m, width)` and the like: the first dimensions of `x`, of which some vary, become one; None
    where extents behind the first one in `extents` are not constants."""
    have, others = shape(x), [known(e)[1] for e in extents[1:]]
    if not extents or not all(isinstance(e, int) and e > 0 for e in others) or 0 in have:
        return None
    last = max(i for i, e in enumerate(have) if e is None)
    if last == 0 or known(extents[0])[0] and known(extents[0])[1] != -1:
        return None
    parts = of_rows(parts_between(f, x, 0, last), 0)
    if is_unknown(parts):
        return parts
    return reshape(f, parts, extents) if known(extents[0])[0] else _regrouped(f, parts, extents, 0)


def _regrouped(f: Frame, x: Array, extents: Sequence[Any], j: int, some: bool = False) -> Value:
    """`x.view(1, steps // 2, 2 * width)` and the like: several rows of `x` become one, or a row several. `extents[j]` is how
    many rows there are then, which the program checks, or -1; with `some`, none is an error of the instance.
    Raises Refused."""
    k, have = axis(x), shape(x)
    fixed = [constant(e, "the shape") for i, e in enumerate(extents) if i != j]
    width, new = math.prod(e or 1 for e in have[k + 1 :]), math.prod(fixed[j:])
    rest = [e for e in fixed if e == -1]
    if math.prod(e or 1 for e in have[:k]) != 1 or math.prod(fixed[:j]) != 1 or rest or not new or not width:
        raise Refused("`view` cannot move elements across the dimension whose extent varies")
    if new % width and width % new:
        raise Refused(f"`view` makes rows of {new} elements of rows of {width}", "one must be a multiple of the other")
    rows = mapped(f, [as_rows(f, x, k)], lambda row: op(f, "reshape", [row], {"shape": (width,)}))
    count = Static(None) if known(extents[j]) == (True, -1) else extents[j]
    where = ast.Pass()
    if new % width == 0:
        join = moving.some_rows_joined if some else moving.rows_joined
        result = f.program.call(f, where, join, [rows, count, Static(new // width)], {})
    else:
        result = f.program.call(f, where, moving.rows_parted, [rows, count, Static(width // new)], {})
    if is_unknown(result):
        return unknown()
    row_shape = tuple(fixed)
    return over_rows(f, result, j, lambda part: op(f, "reshape", [part], {"shape": row_shape}))


def _is_length(f: Frame, value: Any) -> bool:
    return isinstance(value, Dyn) and getattr(value.atom, "name", "") in f.lengths


@operation("reshape", "view")
def _reshape(f: Frame, call: CallArguments) -> Dyn:
    x: Any
    x, *extent = [*call.args, *call.kwargs.values()]
    extents = [constant(e, "the shape") for e in _with_own(f, x, f.spread(extent))]
    others = math.prod([int(e) for e in extents if e != -1])
    shape = tuple(x.type.size // others if e == -1 and others else e for e in extents)
    return op(f, "reshape", [x], {"shape": shape})


def _with_own(f: Frame, x: Dyn, extents: Sequence[Any]) -> Sequence[Any]:
    """The extents that a tensor of fixed shape gets, of which one may be known at run time only, as `y.view_as(x)` of a slice
    `x` takes it: the elements say what it must be, and any other number is an error of the instance."""
    open = [i for i, e in enumerate(extents) if not known(e)[0]]
    rest = [known(e)[1] for e in extents if known(e)[0]]
    others = math.prod(e for e in rest if isinstance(e, int))
    total = math.prod(shape_of(x))
    if len(open) != 1 or type_or_none(extents[open[0]]) != INT or not all(isinstance(e, int) for e in rest):
        return extents
    if others < 1 or not total or total % others:
        return extents
    text = f"RuntimeError: an extent of a shape is {{0}}, not {total // others}, for a tensor of {total} elements"
    with_check(f, "eq", extents[open[0]], Static(total // others), text)
    return [Static(total // others) if i in open else e for i, e in enumerate(extents)]


@ragged("view", "reshape")
def _reshape_ragged(f: Frame, c: CallArguments) -> Value | None:
    return reshape(f, c.args[0], f.spread([*c.args[1:], *c.kwargs.values()]))


@operation("flatten")
def _flatten(f: Frame, call: CallArguments) -> Dyn:
    x, start, end = call.bind("input", "start_dim", "end_dim", start_dim=Static(0), end_dim=Static(-1))
    shape = shape_of(x)
    s, e = dim_of(start, len(shape), "flatten"), dim_of(end, len(shape), "flatten")
    return op(f, "reshape", [x], {"shape": (*shape[:s], math.prod(shape[s : e + 1]), *shape[e + 1 :])})


@ragged("flatten")
def _flatten_ragged(f: Frame, call: CallArguments) -> Value:
    x, start, end = call.bind("input", "start_dim", "end_dim", start_dim=Static(0), end_dim=Static(-1))
    return _flattened(f, x, *(dim_of(d, len(shape(x)), "flatten") for d in (start, end)))


def _flattened(f: Frame, x: Array, s: int, e: int) -> Value:
    """A tensor whose dimensions from `s` to `e` become one."""
    have = shape(x)
    joined = have[s : e + 1]
    if (
        not is_ragged(x)
        or is_numbers(x)
        or have.count(None) == 1
        and (None not in joined or math.prod(e or 1 for e in joined) == 1)
    ):
        before, after = ([extent_of(f, x, d) for d in ds] for ds in (range(s), range(e + 1, len(have))))
        varying = [d for d in range(s, e + 1) if have[d] is None]
        middle = extent_of(f, x, varying[0]) if varying else Static(math.prod(e or 1 for e in joined))
        return call_operation(f, "reshape", CallArguments("reshape", [x, *before, middle, *after], {}))
    k = axis(x)
    if None in joined and k >= s:
        return of_rows(parts_between(f, x, s, e), s)
    left = 0 if k > e else 1  # whether the list of parts is that of a dimension before the joined ones
    return over_rows(f, x, k if left else k - (e - s), lambda row: _flattened(f, row, s - left, e - left))
