"""Parts of tensors: selecting, slicing, taking apart, reversing."""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import pairwise
from typing import Any

from backends.acrobat.core.types import INT, TUPLE, ListT, TupleT
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, constant
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import Array, item_type
from backends.acrobat.frontend.evaluator.lists.lists import bound
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.kinds import as_tuple, is_ragged, is_unknown, known, retyped, variable_of
from backends.acrobat.frontend.tensors.fixing import with_check, with_extent
from backends.acrobat.frontend.tensors.groups import along_varying
from backends.acrobat.frontend.tensors.lifting import (
    as_rows,
    axis,
    dim_of,
    extent_of,
    is_numbers,
    of_rows,
    op,
    over_rows,
    select,
    shape,
    shape_of,
)
from backends.acrobat.frontend.tensors.operations import call_operation, either, operation, ragged
from backends.acrobat.frontend.tensors.shapes import permute
from backends.acrobat.frontend.tensors.windows import window
from backends.acrobat.frontend.values import END, Dyn, Static, TupleV, Value, unknown


def sliced(f: Frame, x: Array, dim: int, start: Value | None, stop: Value | None) -> Value:
    """`x[start:stop]` along one dimension."""
    if start is None and stop is None:
        return x
    bounds, extent, left = [None if b is None else known(b) for b in (start, stop)], shape(x)[dim], None
    if extent is not None and all(b is None or b[0] for b in bounds):
        first, last, _ = slice(*(None if b is None else b[1] for b in bounds)).indices(extent)
        left = max(last - first, 0)
    if not is_ragged(x):
        if left is not None:
            return op(f, "slice", [x], {"dim": dim, "start": first, "stop": first + left})
        rows = as_rows(f, x, dim)
        return of_rows(f.host("list.slice", [rows, *_ends(f, start, stop)], rows.type), dim)
    k = axis(x)
    if is_numbers(x):
        if dim != k:
            raise Refused("a slice of a dimension of extent 1 is not in the language", "index it")
        assert isinstance(x, Dyn)
        flat = retyped(x, ListT(item_type(x)))
        part = f.host("list.slice", [flat, *_ends(f, start, stop)], flat.type)
        return retyped(part, replace(x.type, extent=left))  # type: ignore[arg-type]
    if dim != k:
        return over_rows(f, x, k, lambda row: sliced(f, row, dim - (dim > k), start, stop))
    plain = retyped(x, ListT(item_type(x)))
    part = f.host("list.slice", [plain, *_ends(f, start, stop)], plain.type)
    if all(b is None or b[0] for b in bounds):
        begin, end = (None if b is None else b[1] for b in bounds)
        if (begin, end) == (-1, None) or end == (begin or 0) + 1 != 0:
            f.at_most_one.add(variable_of(part))
    return of_rows(part, k)


def _ends(f: Frame, start: Value | None, stop: Value | None) -> list[Value]:
    return [bound(f, ast.Pass(), start, 0), bound(f, ast.Pass(), stop, END)]


# ---- the operations


@operation("chunk")
def _chunk(f: Frame, call: CallArguments) -> Value:
    x, chunks, dim = call.bind("input", "chunks", "dim", dim=Static(0))
    d = dim_of(dim, len(shape_of(x)), "chunk")
    if not known(chunks)[0]:
        return _pieces(f, "chunk", call, len(shape_of(x)))
    extent = shape_of(x)[d]
    size = -(-extent // constant(chunks, "the number of chunks"))
    return _slices(f, x, d, [min(size, extent - at) for at in range(0, extent, size)])


@operation("split")
def _split(f: Frame, call: CallArguments) -> Value:
    x, sizes, dim = call.bind("input", "split_size_or_sections", "dim", dim=Static(0))
    d = dim_of(dim, len(shape_of(x)), "split")
    extent, sizes_known = shape_of(x)[d], _constants(f, sizes)
    if sizes_known is None:
        return _pieces(f, "split", call, len(shape_of(x)))
    if isinstance(sizes_known, int):
        sizes_known = [min(sizes_known, extent - at) for at in range(0, extent, sizes_known)]
    if sum(sizes_known) != extent:
        raise Refused(f"`split`: the sizes {tuple(sizes_known)} do not add up to {extent}")
    return _slices(f, x, d, list(sizes_known))


@either("split_with_sizes")
def _split_with_sizes(f: Frame, call: CallArguments) -> Value:
    x, sizes, dim = call.bind("input", "split_sizes", "dim", dim=Static(0))
    return call_operation(f, "split", CallArguments("split", [x, sizes, dim], {}))


@either("tensor_split", "hsplit", "vsplit")
def _tensor_split(f: Frame, call: CallArguments) -> Value:
    """So many parts of nearly one size, or parts that begin at the given indices."""
    x, sections, dim = call.bind("input", "indices_or_sections", "dim", dim=Static(0))
    rank = len(shape(x))
    d = {"hsplit": min(1, rank - 1), "vsplit": 0}.get(call.name)
    d = dim_of(dim, rank, call.name) if d is None else d
    extent, at = shape(x)[d], _constants(f, sections)
    if isinstance(x, Dyn) and (extent is None or at is None) and call.name == "tensor_split":
        return _pieces(f, call.name, CallArguments(call.name, [x, sections, Static(d)], {}), rank)
    if extent is None:
        raise Refused(f"`{call.name}` along an extent that varies is not in the language", "`tensor_split` takes it")
    if at is None:
        at = constant(f.static_list(sections), "the sections")
    if isinstance(at, int):
        if at < 1 or call.name != "tensor_split" and extent % at:
            raise Refused(f"`{call.name}`: an extent of {extent} is not divided in {at}")
        sizes = [(extent + at - 1 - i) // at for i in range(at)]
    else:
        ends = [0, *(min(max(i + extent if i < 0 else i, 0), extent) for i in at), extent]
        sizes = [max(b - a, 0) for a, b in pairwise(ends)]
        if sum(sizes) != extent or 0 in sizes:
            raise Refused(f"`{call.name}`: the indices are in ascending order, and leave no part empty")
    return call_operation(f, "split", CallArguments("split", [x, Static(sizes), Static(d)], {}))


def _constants(f: Frame, sizes: Value) -> Any:
    """An int or several ints that are known at compile time; None if one is known at run time only."""
    sizes = f.static_list(sizes)
    facts = [known(v) for v in (sizes.items if isinstance(sizes, TupleV) else (sizes,))]
    if not all(is_known for is_known, _ in facts):
        return None
    return tuple(v for _, v in facts) if isinstance(sizes, TupleV) else facts[0][1]


def _slices(f: Frame, x: Dyn, dim: int, sizes: list[int]) -> TupleV:
    out, at = [], 0
    for size in sizes:
        out.append(op(f, "slice", [x], {"dim": dim, "start": at, "stop": at + size}))
        at += size
    return TupleV(tuple(out))


@operation("unbind")
def _unbind(f: Frame, call: CallArguments) -> Value:
    x, dim = call.bind("input", "dim", dim=Static(0))
    d = dim_of(dim, len(shape_of(x)), "unbind")
    return TupleV(tuple(op(f, "index", [x], {"dim": d, "i": i}) for i in range(shape_of(x)[d])))


@operation("select")
def _select(f: Frame, call: CallArguments) -> Value:
    x, dim, index = call.bind("input", "dim", "index")
    d, (is_known, i) = dim_of(dim, len(shape_of(x)), "select"), known(index)
    if not is_known:
        return select(f, x, d, index)
    return op(f, "index", [x], {"dim": d, "i": i + shape_of(x)[d] if i < 0 else i})


@ragged("select")
def _select_ragged(f: Frame, c: CallArguments) -> Value | None:
    v, dim, i = c.bind("input", "dim", "index")
    return select(f, v, dim_of(dim, len(shape(v)), c.name), i)


@ragged("chunk", "split", "unbind")
def _pieces_ragged(f: Frame, c: CallArguments) -> Value | None:
    return _pieces(f, c.name, c, len(shape(c.args[0])))


PARAMETERS = {
    "chunk": ("chunks", "dim"),
    "split": ("split_size_or_sections", "dim"),
    "tensor_split": ("indices_or_sections", "dim"),
    "unbind": ("dim",),
}
"""The parameters of the operations that take a tensor apart, behind the tensor."""


def _pieces(f: Frame, name: str, c: CallArguments, rank: int) -> Value:
    """`chunk`, `split`, `tensor_split` and `unbind` of a ragged tensor, or into as many parts as are known at run time only.
    Along the varying dimension they give a tuple whose length varies, in most cases."""
    x, *rest, dim = c.bind("input", *PARAMETERS[name], dim=Static(0))
    d = dim_of(dim, rank, name)
    k = axis(x) if is_ragged(x) else d
    if d == k or rest and not is_numbers(x) and _constants(f, rest[0]) is None:
        if name == "unbind" and (extent := shape(x)[d]) is not None:  # a tensor of ints, whose outer list has a known length
            return TupleV(tuple(select(f, x, d, Static(i)) for i in range(extent)))
        if name == "unbind":
            return retyped(x, ListT(item_type(x), kind=TUPLE))
        return as_tuple(along_varying(f, name, x, d, rest[0]))
    if name == "unbind" and shape(x)[d] is None:  # the inner one of two that vary
        return as_rows(f, x, d)
    inner = Static(d - (d > k))
    whole = mapped(f, [x], lambda row: call_operation(f, name, CallArguments(name, [row, *rest, inner], {})))
    if is_unknown(whole):
        return unknown()
    if not isinstance(item_type(whole), TupleT):  # rows of ints are lists, and so their pieces are
        return _pieces_of_ints(f, name, x, d, rest)
    count = len(item_type(whole).items)

    def piece(i: int) -> Value:
        return of_rows(mapped(f, [whole], lambda parts: (f.components(parts) or [])[i]), k - (name == "unbind" and d < k))

    return TupleV(tuple(piece(i) for i in range(count)))


def _pieces_of_ints(f: Frame, name: str, x: Dyn, dim: int, sizes: list[Value]) -> Value:
    """As `_pieces`, of a tensor of ints along a dimension whose extent is known: slices of it. Raises Refused."""
    extent, (is_known, size) = shape(x)[dim], known(sizes[0]) if sizes else (False, None)
    if name not in ("split", "chunk") or not is_known or not isinstance(size, int) or size < 1 or extent is None:
        raise Refused(f"`{name}` of such a tensor of ints is not in the language", "write slices: `x[:, :1]`, `x[:, 1:]`")
    step = size if name == "split" else -(-extent // size)

    def piece(start: int) -> Value:
        bounds = ast.Slice(ast.Constant(start), ast.Constant(min(start + step, extent)))
        places: list[ast.expr] = [*(ast.Slice() for _ in range(dim)), bounds]
        return f.expression(
            ast.fix_missing_locations(ast.Subscript(CompiledNode(x), ast.Tuple(places, ast.Load()), ast.Load()))
        )

    return TupleV(tuple(map(piece, range(0, extent, step))))


@either("narrow")
def _narrow(f: Frame, call: CallArguments) -> Value:
    """So many parts from `start` on. One that is not all inside of the tensor is an error of the instance."""
    x, dim, start, length = call.bind("input", "dim", "start", "length")
    d, (is_known, size) = dim_of(dim, len(shape(x)), "narrow"), known(length)
    extent, first = shape(x)[d], known(start)[1]
    if not is_ragged(x) and is_known and known(start)[0]:
        first += extent if first < 0 else 0
        return op(f, "slice", [x], {"dim": d, "start": first, "stop": first + size})
    if not is_ragged(x) and is_known and size > 0:
        return window(f, x, d, start, size)
    if known(start)[0] and first < 0:
        start = f.host("add", [extent_of(f, x, d), start], INT, "start")
    end = f.host("add", [start, length], INT, "end")

    def part() -> Value:
        result = sliced(f, x, d, start, end)
        if is_known and not is_unknown(result) and not is_numbers(result):
            return with_extent(f, result, d, size, "as `narrow` takes it")
        text = "RuntimeError: `narrow` ends at {0}, behind the end of the tensor"
        return with_check(f, "le", end, extent_of(f, x, d), text, lambda: result)

    def some() -> Value:
        return with_check(f, "ge", length, Static(0), "RuntimeError: `narrow` takes {0} parts", part)

    return with_check(f, "ge", start, Static(0), "RuntimeError: `narrow` begins at {0}, before the tensor", some)


def reversed_along(f: Frame, x: Array, dim: int) -> Value:
    """The tensor with its parts along one dimension in reverse order."""
    if not is_ragged(x):
        parts = [op(f, "index", [x], {"dim": dim, "i": i}) for i in reversed(range(shape_of(x)[dim]))]
        return op(f, "stack", parts, {"dim": dim})
    k = axis(x)
    if dim == k:
        plain = retyped(x, ListT(item_type(x)))
        return of_rows(f.host("list.reverse", [plain], plain.type), k)
    return over_rows(f, x, k, lambda row: reversed_along(f, row, dim - (dim > k)))


@either("flip", "fliplr", "flipud")
def _flip(f: Frame, call: CallArguments) -> Value:
    x: Any = call.args[0]
    dims = {"fliplr": [Static(1)], "flipud": [Static(0)]}.get(call.name)
    for d in dims if dims is not None else f.spread([*call.args[1:], *call.kwargs.values()]):
        x = reversed_along(f, x, dim_of(d, len(shape(x)), call.name))
    return x


@either("rot90")
def _rotated(f: Frame, call: CallArguments) -> Value:
    """`torch.rot90`: `k` quarter turns from the first of two dimensions towards the second."""
    x: Any
    x, k, dims = call.bind("input", "k", "dims", k=Static(1), dims=Static((0, 1)))
    turns = constant(k, "the number of turns") % 4
    a, b = (dim_of(Static(d), len(shape(x)), "rot90") for d in constant(f.static_list(dims), "the dimensions"))
    if turns == 2:
        return reversed_along(f, reversed_along(f, x, a), b)
    if turns == 1:
        x = reversed_along(f, x, b)
    if turns:
        order = list(range(len(shape(x))))
        order[a], order[b] = b, a
        x = permute(f, x, order)
    return reversed_along(f, x, b) if turns == 3 else x
