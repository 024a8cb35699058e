"""Operations that move, add or remove dimensions, and copies of a tensor."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from backends.acrobat.core.types import BOOL, ListT
from backends.acrobat.frontend.evaluator.choices.choice import choose, fail
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import Array, item_type
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.kinds import is_ragged, is_tensor, retyped
from backends.acrobat.frontend.tensors.dtypes import as_floats, dtype_of
from backends.acrobat.frontend.tensors.fixing import several
from backends.acrobat.frontend.tensors.lifting import (
    as_rows,
    axis,
    dim_of,
    extent_of,
    is_numbers,
    numbers,
    of_rows,
    op,
    operand,
    over_rows,
    shape,
    shape_of,
    without_unit,
)
from backends.acrobat.frontend.tensors.operations import call_operation, either, operation, ragged
from backends.acrobat.frontend.values import Dyn, Held, Static, Value


def move(f: Frame, x: Array, how: str, dim: int) -> Value:
    """`unsqueeze` or `squeeze` of one dimension (not negative) of a tensor or number."""
    if isinstance(x, Held) or not is_ragged(x):
        if is_tensor(x):
            return call_operation(f, how, CallArguments(how, [x, Static(dim)], {}))
        return x if isinstance(x, Held) else call_operation(f, how, CallArguments(how, [Dyn(operand(f, x)), Static(dim)], {}))
    k = axis(x)
    if is_numbers(x):
        assert isinstance(x, Dyn)
        assert isinstance(x.type, ListT)
        if how == "unsqueeze":
            return numbers(x, k + (dim <= k), x.type.units + (dim > k))
        if dim != k:
            return without_unit(x, dim)
    if how == "unsqueeze":
        return over_rows(f, x, k + (dim <= k), lambda row: move(f, row, how, dim if dim <= k else dim - 1))
    if shape(x)[dim] is None:
        return _only_part(f, as_rows(f, x, dim), extent_of(f, x, dim))
    if shape(x)[dim] != 1:
        return x
    return over_rows(f, x, k - (dim < k), lambda row: move(f, row, how, dim if dim < k else dim - 1))


def _only_part(f: Frame, rows: Dyn, size: Value) -> Value:
    """`squeeze` of an extent `size` that varies: the only one of the parts along it. In PyTorch the rank depends on the extent;
    here another one than 1 is an error of the instance."""
    one = f.host("eq", [size, Static(1)], BOOL, "one")
    text = "ValueError: `squeeze` of a dimension whose extent is {0}, not 1"
    part = partial(f.host, "list.get", [retyped(rows, ListT(item_type(rows))), Static(0)], item_type(rows), "part")
    return choose(f, ast.Pass(), one, part, lambda: fail(f, text, [size]))


def permute(f: Frame, x: Array, dims: Sequence[int]) -> Value:
    if list(dims) == sorted(dims):
        return x
    if not is_ragged(x):
        return op(f, "permute", [x], {"dims": tuple(dims)})
    k: int = axis(x)
    if is_numbers(x):
        return numbers(x, dims.index(k), len(dims) - 1 - dims.index(k))
    inner = [i for i, e in enumerate(shape(x)) if e is None and i != k]
    if inner and dims.index(inner[0]) < dims.index(k):  # the inner list becomes the outer one
        first = inner[0]
        swapped = as_rows(f, x, first)
        rest = [d - (d > first) for d in dims if d != first]
        return of_rows(mapped(f, [swapped], lambda row: permute(f, row, rest)), dims.index(first))
    rest = [d - (d > k) for d in dims if d != k]
    if rest == sorted(rest):
        return retyped(x, ListT(item_type(x), dims.index(k)))
    return over_rows(f, x, dims.index(k), lambda row: permute(f, row, rest))


# ---- the operations


@operation("unsqueeze")
def _unsqueeze(f: Frame, call: CallArguments) -> Dyn:
    x, dim = call.bind("input", "dim")
    d = dim_of(dim, len(shape_of(x)), "unsqueeze", extra=1)
    shape = shape_of(x)
    return op(f, "reshape", [x], {"shape": (*shape[:d], 1, *shape[d:])})


@ragged("unsqueeze")
def _unsqueeze_ragged(f: Frame, c: CallArguments) -> Value | None:
    v, dim = c.bind("input", "dim")
    return move(f, v, c.name, dim_of(dim, len(shape(v)), c.name, extra=1))


@operation("squeeze")
def _squeeze(f: Frame, call: CallArguments) -> Dyn:
    x, dim = call.bind("input", "dim", dim=None)
    shape = shape_of(x)
    if dim is None:
        return op(f, "reshape", [x], {"shape": tuple(e for e in shape if e != 1)})
    d = dim_of(dim, len(shape), "squeeze")
    return op(f, "reshape", [x], {"shape": shape[:d] + shape[d + 1 :]}) if shape[d] == 1 else x


@ragged("squeeze")
def _squeeze_ragged(f: Frame, c: CallArguments) -> Value | None:
    v, dim = c.bind("input", "dim", dim=None)
    if dim is None:
        for d in (d for d, e in enumerate(shape(v)) if e is None):
            several(f, extent_of(f, v, d))
        for d in reversed([d for d, e in enumerate(shape(v)) if e == 1]):
            v = move(f, v, "squeeze", d)
        return v
    return move(f, v, c.name, dim_of(dim, len(shape(v)), c.name))


@operation("transpose")
def _transpose(f: Frame, call: CallArguments) -> Dyn:
    x, a, b = call.bind("input", "dim0", "dim1")
    rank = len(shape_of(x))
    i, j = dim_of(a, rank, "transpose"), dim_of(b, rank, "transpose")
    dims = list(range(rank))
    dims[i], dims[j] = dims[j], dims[i]
    return op(f, "permute", [x], {"dims": tuple(dims)})


@ragged("transpose")
def _transpose_ragged(f: Frame, c: CallArguments) -> Value | None:
    v, a, b = c.bind("input", "dim0", "dim1")
    rank = len(shape(v))
    dims = list(range(rank))
    i, j = dim_of(a, rank, c.name), dim_of(b, rank, c.name)
    dims[i], dims[j] = dims[j], dims[i]
    return permute(f, v, dims)


@operation("t")
def _t(f: Frame, call: CallArguments) -> Dyn:
    (x,) = call.bind("input")
    return op(f, "permute", [x], {"dims": tuple(reversed(range(len(shape_of(x)))))})


@ragged("t")
def _t_ragged(f: Frame, c: CallArguments) -> Value | None:
    return permute(f, c.args[0], list(reversed(range(len(shape(c.args[0]))))))


@either("movedim", "moveaxis")
def _movedim(f: Frame, call: CallArguments) -> Value:
    x, source, destination = call.bind("input", "source", "destination")
    rank = len(shape(x))
    own, to = (_dims_of(f, v, rank, call.name) for v in (source, destination))
    if len({*own}) < len(own) or len({*to}) < len(to) or len(own) != len(to):
        raise Refused(f"`{call.name}`: as many different dimensions are given as places for them")
    order = [d for d in range(rank) if d not in own]
    for place, d in sorted(zip(to, own, strict=True)):
        order.insert(place, d)
    return permute(f, x, order)


def _dims_of(f: Frame, dims: Any, rank: int, name: str) -> list[int]:
    """The dimensions that an int or a tuple of them names."""
    several = constant(f.static_list(dims), f"the dimensions of `{name}`")
    return [dim_of(Static(d), rank, name) for d in (several if isinstance(several, (tuple, list)) else (several,))]


@operation("permute")
def _permute(f: Frame, call: CallArguments) -> Dyn:
    x: Any
    x, *dims = [*call.args, *call.kwargs.values()]
    items = f.spread(dims)
    rank = len(shape_of(x))
    return op(f, "permute", [x], {"dims": tuple(dim_of(d, rank, "permute") for d in items)})


@ragged("permute")
def _permute_ragged(f: Frame, c: CallArguments) -> Value | None:
    x = c.args[0]
    rank = len(shape(x))
    return permute(f, x, [dim_of(d, rank, c.name) for d in f.spread([*c.args[1:], *c.kwargs.values()])])


@either("contiguous")
def _contiguous(f: Frame, call: CallArguments) -> Dyn:
    x: Any = call.args[0]
    f.builder.fresh -= {getattr(f.atom(x), "name", "")}  # the result may be the tensor or a copy of it
    return x


@operation("detach")
def _detach(f: Frame, call: CallArguments) -> Dyn:
    return call.args[0]  # type: ignore[return-value]


@operation("clone")
def _clone(f: Frame, call: CallArguments) -> Dyn:
    """A copy: changing one of the two tensors in place does not change the other."""
    x: Any = call.args[0]
    fresh = set(f.builder.fresh)
    copy = op(f, "reshape", [x], {"shape": shape_of(x)}, "clone")
    f.builder.fresh = fresh | {getattr(copy.atom, "name", "")}
    return copy


@operation("float")
def _float(f: Frame, call: CallArguments) -> Value:
    (x,) = call.bind("input")
    return as_floats(f, x) if x.type.dtype == "int64" else x


@ragged("detach", "clone", "float")
def _same_ragged(f: Frame, c: CallArguments) -> Value | None:
    x: Any = c.args[0]
    return x if c.name != "float" or dtype_of(x) == torch.float32 else as_floats(f, x)
