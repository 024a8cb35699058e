"""Shapes: asking for extents, and operations that move dimensions."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from backends.acrobat.core.types import BOOL, INT, ListT, TensorT
from backends.acrobat.frontend.evaluator.arguments import CallArguments, Refused, constant
from backends.acrobat.frontend.evaluator.choice import choose, fail
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.lists import Array, item_type, length, mapped
from backends.acrobat.frontend.tensors.fixing import several
from backends.acrobat.frontend.tensors.lifting import (
    as_floats,
    as_rows,
    axis,
    dim_of,
    dtype_of,
    each_row,
    extent_of,
    is_numbers,
    item,
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
from backends.acrobat.frontend.values import (
    Dyn,
    Held,
    Static,
    TupleV,
    Value,
    guess,
    is_list,
    is_ragged,
    is_tensor,
    is_unknown,
    known,
    retyped,
    unknown,
)
from backends.acrobat.library import moving


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


def reshape(f: Frame, x: Array, wanted: Sequence[Any]) -> Value:
    """`view` and `reshape` of a ragged tensor: no element may move across the varying dimension. Raises Refused."""
    have = shape(x)
    if have.count(None) > 1:
        raise Refused(
            "a tensor of which several extents vary cannot be reshaped", "use transpose, unsqueeze or flatten its rows"
        )
    k = axis(x)
    before, after = math.prod(e or 1 for e in have[:k]), math.prod(e or 1 for e in have[k + 1 :])
    if is_numbers(x):
        wider = [i for i, e in enumerate(wanted) if known(e) != (True, 1)]
        if len(wider) == 1 and (known(wanted[wider[0]]) == (True, -1) or _is_length(f, wanted[wider[0]])):
            return numbers(x, wider[0], len(wanted) - 1 - wider[0])
        raise Refused("a tensor of ints whose extent varies keeps one dimension, and others of extent 1")
    runtime = [i for i, e in enumerate(wanted) if not known(e)[0]]
    if len(runtime) == 1 and not _is_length(f, wanted[runtime[0]]):
        return _regrouped(f, x, wanted, runtime[0])
    if len(runtime) > 1:
        raise Refused("an extent here is neither constant nor the tensor's own varying one", "write `x.size(0)` for that")
    fixed = [known(e)[1] for e in wanted]
    if runtime:
        j = runtime[0]
        rest = math.prod(e for i, e in enumerate(fixed) if i != j and e != -1)
        fixed = [before * after // max(rest, 1) if e == -1 else e for e in fixed]
    elif -1 in fixed:
        j = fixed.index(-1)
    else:
        raise Refused("this shape has no place for the extent that varies", "write -1 for it")
    left, right = math.prod(fixed[:j]), math.prod(fixed[j + 1 :])
    if left == before == 1 and right != after and not runtime:
        return _regrouped(f, x, wanted, j)
    if (left, right) != (before, after):
        raise Refused("`view` cannot move elements across the dimension whose extent varies")
    row = tuple(fixed[:j] + fixed[j + 1 :])
    if row == shape(guess(item_type(x))):
        return retyped(x, ListT(item_type(x), j))
    return over_rows(f, x, j, lambda part: op(f, "reshape", [part], {"shape": row}))


def _regrouped(f: Frame, x: Array, wanted: Sequence[Any], j: int) -> Value:
    """`x.view(1, steps // 2, 2 * width)` and the like: several rows of `x` become one, or a row several. `wanted[j]` is how
    many rows there are then, which the program checks, or -1. Raises Refused."""
    k, have = axis(x), shape(x)
    fixed = [constant(e, "the shape") for i, e in enumerate(wanted) if i != j]
    width, new = math.prod(e or 1 for e in have[k + 1 :]), math.prod(fixed[j:])
    rest = [e for e in fixed if e == -1]
    if math.prod(e or 1 for e in have[:k]) != 1 or math.prod(fixed[:j]) != 1 or rest or not new or not width:
        raise Refused("`view` cannot move elements across the dimension whose extent varies")
    if new % width and width % new:
        raise Refused(f"`view` makes rows of {new} elements of rows of {width}", "one must be a multiple of the other")
    rows = mapped(f, [as_rows(f, x, k)], lambda row: op(f, "reshape", [row], {"shape": (width,)}))
    count = Static(None) if known(wanted[j]) == (True, -1) else wanted[j]
    where = ast.Pass()
    if new % width == 0:
        made = f.program.call(f, where, moving.rows_joined, [rows, count, Static(new // width)], {})
    else:
        made = f.program.call(f, where, moving.rows_parted, [rows, count, Static(width // new)], {})
    if is_unknown(made):
        return unknown()
    row_shape = tuple(fixed)
    return over_rows(f, made, j, lambda part: op(f, "reshape", [part], {"shape": row_shape}))  # type: ignore[arg-type]


def _is_length(f: Frame, value: Any) -> bool:
    return isinstance(value, Dyn) and getattr(value.atom, "name", "") in f.lengths


def looked_up(f: Frame, ids: Array, row: Callable[[Value], Value]) -> Value:
    """The tensor with the part `row(id)` for each id of a tensor of ints, as an embedding gives it."""
    if is_list(ids):
        ids = of_rows(ids, 0)
    if isinstance(ids, Dyn) and isinstance(ids.type, TensorT):  # computed, as by `argmax`: the instance waits
        return row(f.host("int", [item(f, ids, "index")], INT))
    if not is_numbers(ids):
        return over_rows(f, ids, axis(ids), lambda part: looked_up(f, part, row))  # type: ignore[arg-type]
    assert isinstance(ids, Dyn)
    assert isinstance(ids.type, ListT)
    flat = numbers(ids, 0, 0)
    found: Value = each_row(f, [flat], row, 0, flat.type.extent)  # type: ignore[union-attr]
    for _ in range(ids.type.units):
        found = move(f, found, "unsqueeze", 1)  # type: ignore[arg-type]
    for _ in range(axis(ids)):
        found = move(f, found, "unsqueeze", 0)  # type: ignore[arg-type]
    return found


# ---- the operations


@operation("reshape", "view")
def _reshape(f: Frame, call: CallArguments) -> Dyn:
    x: Any
    x, *extent = [*call.args, *call.kwargs.values()]
    wanted = [constant(e, "the shape") for e in f.spread(extent)]
    known = math.prod([int(e) for e in wanted if e != -1])
    total = x.type.size
    shape = tuple(total // known if e == -1 and known else e for e in wanted)
    return op(f, "reshape", [x], {"shape": shape})


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
    have = shape(x)
    s, e = dim_of(start, len(have), "flatten"), dim_of(end, len(have), "flatten")
    joined = have[s : e + 1]
    if None in joined:
        if math.prod(e or 1 for e in joined) != 1:
            raise Refused("`flatten` of the extent that varies with others is not in the language", "flatten its rows")
        middle = next(extent_of(f, x, s + i) for i, e in enumerate(joined) if e is None)
    else:
        middle = Static(math.prod(e or 1 for e in joined))
    return reshape(
        f, x, [*(extent_of(f, x, d) for d in (*range(s),)), middle, *(extent_of(f, x, d) for d in range(e + 1, len(have)))]
    )


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
    own, to = (dim_of(v, rank, call.name) for v in (source, destination))
    rest = [d for d in range(rank) if d != own]
    return permute(f, x, [*rest[:to], own, *rest[to:]])


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


@operation("contiguous")
def _contiguous(f: Frame, call: CallArguments) -> Dyn:
    x: Any = call.args[0]
    f.builder.fresh -= {getattr(f.atom(x), "name", "")}  # the result may be the tensor or a copy of it
    return x  # type: ignore[no-any-return]


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


@ragged("contiguous", "detach", "clone", "float")
def _same_ragged(f: Frame, c: CallArguments) -> Value | None:
    x: Any = c.args[0]
    return x if c.name != "float" or dtype_of(x) == torch.float32 else as_floats(f, x)


@operation("size")
def _size(f: Frame, call: CallArguments) -> Value:
    x, dim = call.bind("input", "dim", dim=None)
    shape = shape_of(x)
    return Static(tuple(shape)) if dim is None else Static(shape[dim_of(dim, len(shape), "size")])


@ragged("size")
def _size_ragged(f: Frame, c: CallArguments) -> Value | None:
    v, dim = c.bind("input", "dim", dim=None)
    rank = len(shape(v))
    if dim is not None:
        return extent_of(f, v, dim_of(dim, rank, c.name))
    return TupleV(tuple(extent_of(f, v, d) for d in range(rank)))


@operation("numel")
def _numel(f: Frame, call: CallArguments) -> Value:
    return Static(math.prod(shape_of(call.args[0])))  # type: ignore[arg-type]


@ragged("numel")
def _numel_ragged(f: Frame, c: CallArguments) -> Value | None:
    x = c.args[0]
    return length(f, x) if shape(x).count(1) == len(shape(x)) - 1 else None


@operation("dim")
def _dim(f: Frame, call: CallArguments) -> Value:
    return Static(len(shape_of(call.args[0])))  # type: ignore[arg-type]


@ragged("dim")
def _dim_ragged(f: Frame, c: CallArguments) -> Value | None:
    return Static(len(shape(c.args[0])))
