"""Indexing of tensors: `x[i]`, `x[a:b]`, `x[mask]`, `x[rows, columns]`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import torch

from backends.acrobat.core.types import INT, ListT, TensorT, TupleT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.expressions.indexing import as_index
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, constant, is_constant
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists import lists
from backends.acrobat.frontend.evaluator.lists.lengths import check_equal, item_type, length, origin_of
from backends.acrobat.frontend.evaluator.lists.mapping import flattened, mapped
from backends.acrobat.frontend.evaluator.tables import INDICES, SUBSCRIPTS, handles
from backends.acrobat.frontend.kinds import (
    is_list,
    is_number,
    is_ragged,
    is_tensor,
    is_unknown,
    kind,
    known,
    retyped,
    type_of,
    type_or_none,
    variable_of,
)
from backends.acrobat.frontend.tensors.dtypes import dtype_of
from backends.acrobat.frontend.tensors.ints import listed_ids
from backends.acrobat.frontend.tensors.lifting import (
    as_rows,
    axis,
    each_row,
    extent_of,
    is_numbers,
    item,
    numbers,
    of_rows,
    op,
    select,
    shape,
    shape_of,
    stack_parts,
)
from backends.acrobat.frontend.tensors.lookups import looked_up
from backends.acrobat.frontend.tensors.mask_operations import read_flags
from backends.acrobat.frontend.tensors.masks import is_mask, mask
from backends.acrobat.frontend.tensors.one_hot import ints_of
from backends.acrobat.frontend.tensors.operations import call_operation
from backends.acrobat.frontend.tensors.parts import sliced
from backends.acrobat.frontend.tensors.several_indices import by_pairs, chosen_by_several, index_value, ints_in, places_named
from backends.acrobat.frontend.tensors.shapes import move
from backends.acrobat.frontend.tensors.slices import LARGEST, one_part, one_place
from backends.acrobat.frontend.tensors.values import HostTensor
from backends.acrobat.frontend.tensors.windows import is_crop, size_of_window, window
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import Dyn, Held, ListedV, Static, TupleV, Value, unknown
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.make import make_op
from backends.acrobat.library import selection


def entries_of(f: Frame, index: ast.expr) -> list[ast.expr]:
    """The entries of an index that is not written as a tuple: those of a tuple of the program, `scores[pair]`, or itself."""
    made = isinstance(index, ast.Call) and isinstance(index.func, ast.Name) and index.func.id == "tuple"
    if not made and not isinstance(index, (ast.Name, ast.Attribute, ast.Subscript, CompiledNode)):
        return [index]
    with f.trial():
        is_pair = _is_tuple(f.borrowed(index))
    parts = f.components(f.borrowed(index)) if is_pair else None
    return [index] if parts is None else [ast.copy_location(CompiledNode(x), index) for x in parts]


def _is_tuple(value: Value) -> bool:
    """Whether a value is a tuple of known length, and no list that is written out."""
    if isinstance(value, Static):
        return isinstance(value.value, tuple)
    t = type_or_none(value) if isinstance(value, TupleV) or kind(value) == "tuple" else None
    return isinstance(value, TupleV) and not isinstance(value, ListedV) or isinstance(t, TupleT) and not t.listed


@handles(SUBSCRIPTS, "tensor", "ragged")
def index_tensor(f: Frame, node: ast.AST, value: Dyn, index: ast.expr) -> Value:
    """`x[...]`, by None, `...`, slices, masks, tensors of ints, and ints (LANGUAGE.md: which may be known at run time only)."""
    entries = index.elts if isinstance(index, ast.Tuple) else entries_of(f, index)
    extents, dim = shape(value), 0
    several, dims, places = by_pairs(f, entries), list[int](), list[Any]()
    crop = is_crop(f, value, entries)
    part: Any = value
    for k, e in enumerate(entries):
        rank = len(shape(part))
        if isinstance(e, ast.Constant) and e.value is Ellipsis:
            dim = rank - sum(not _is_none(x) for x in entries[k + 1 :])
            continue
        if _is_none(e):
            part = move(f, part, "unsqueeze", dim)
            dim += 1
            continue
        if dim >= rank:
            return f.problem(node, f"too many indices for a tensor of shape {extents}")
        if k in several:
            places.append(places_named(f, e, part, dim))
            dims.append(dim)
            dim += 1
            if k == several[-1]:
                part = chosen_by_several(f, part, dims, places)
                dim -= len(dims) - 1
        elif isinstance(e, ast.Slice):
            part = _part_by_slice(f, e, part, dim, crop)
            dim += 1
        else:
            part, count = _part_by_value(f, node, e, part, dim)
            dim += count
        if is_unknown(part):
            return unknown()
    return part


def _is_none(e: ast.expr) -> bool:
    """Whether an index is None as written, which makes a new dimension."""
    return isinstance(e, ast.Constant) and e.value is None


def _part_by_slice(f: Frame, e: ast.Slice, value: Any, dim: int, crop: bool) -> Value:
    """The part of a tensor that a slice of the dimension `dim` names; `crop` is what `is_crop` says of all indices."""
    extent = shape(value)[dim]
    if extent is None and e.step is not None:
        begin, end, by = (f.expression(b) if b else Static(None) for b in (e.lower, e.upper, e.step))
        if not isinstance(known(by)[1], int) or known(by)[1] < 1:
            return f.problem(e, "the step of a slice of a tensor is an int above 0, known at compile time")
        rows = as_rows(f, value, dim)
        rows = retyped(rows, ListT(item_type(rows)))
        return of_rows(lists.sliced(f, e, rows, begin, end, by), dim)
    if extent != 1 and (i := one_place(f, e)) is not None:  # x[t : t + 1]
        return one_part(f, value, dim, i)
    if e.step is None and (is_ragged(value) or not _constant_bounds(f, e)):
        lower, upper = (f.expression(b) if b else None for b in (e.lower, e.upper))
        size = size_of_window(f, lower, upper) if crop else 0
        if size and lower is not None and extent is not None:
            return window(f, value, dim, lower, size)
        return sliced(f, value, dim, lower, upper)
    assert extent is not None
    bounds = [constant(f.expression(b), "a bound of a tensor slice") if b else None for b in (e.lower, e.upper, e.step)]
    start, stop, step = slice(*bounds).indices(extent)
    places = range(start, stop, step)
    if step != 1 and not (step > 0 and 0 < len(places) <= LARGEST):
        return f.problem(e, f"a slice with a step takes 1 to {LARGEST} parts of a fixed dimension, in their order")
    if step != 1:
        return stack_parts(f, [select(f, value, dim, Static(i)) for i in places], dim)
    if (start, stop) == (0, extent):
        all_of_it: Value = value
        return all_of_it
    return op(f, "slice", [value], {"dim": dim, "start": start, "stop": max(start, stop)})


def _part_by_value(f: Frame, node: ast.AST, e: ast.expr, value: Any, dim: int) -> tuple[Value, int]:
    """The part of a tensor that an index of the dimension `dim` names, and how many dimensions it has in the place of this one:
    none where the index is an int, those of the index where it is a tensor of ints. A mask or a list gives one."""
    i: Any = index_value(f, e)
    if is_mask(i):
        return _chosen_by(f, node, value, dim, i), 1
    if isinstance(i, Dyn) and is_tensor(i) and shape(i):
        i = _computed_ids(f, i)
    elif not (isinstance(i, Held) and i.kind == "ids"):
        i = as_index(f, i)
    if is_unknown(i):
        return unknown(), 0
    i = listed_ids(f, ints_in(f, e, i))
    if isinstance(i, Held) and i.kind == "ids":
        chosen = TupleV(tuple(select(f, value, dim, k) for k in f.components(i.value) or ()))
        return call_operation(f, "stack", CallArguments("stack", [chosen, Static(dim)], {})), 1
    if is_list(i) or is_ragged(i):
        return _parts_by_ints(f, e, value, dim, i), len(shape(i)) if is_ragged(i) else 1
    if _is_tuple(i) or kind(i) in ("varying tuple", "string", "set", "dict", "object"):
        what = f"a tensor is indexed with ints, tensors of ints, slices, masks, None and ... here, not {describe(type_of(i))}"
        return f.problem(e, what, "write the indices out"), 0
    return _part_by_int(f, node, e, value, dim, i), 0


def _parts_by_ints(f: Frame, e: ast.expr, value: Any, dim: int, i: Any) -> Value:
    """The parts of a tensor, along the dimension `dim`, that a list or tensor of ints of run time names."""
    if dtype_of(i) not in (None, torch.int64) or is_list(i) and i.type.item != INT:
        return f.problem(e, "a tensor is indexed with ints, tensors of ints, slices, masks, None and ... here")
    if dim and is_ragged(i) and len(shape(i)) > 1:  # the parts for each row of ints
        others = range(len(shape(i)) - 1)

        def parts_of(row: Any) -> Value:
            if not is_number(row):
                return _parts_by_ints(f, e, value, dim, row)
            part: Any = select(f, value, dim, row)  # the other dimensions have the extent 1
            for _ in others:
                part = move(f, part, "unsqueeze", dim)
            return part  # type: ignore[no-any-return]

        return each_row(f, [as_rows(f, i, 0)], parts_of, dim, shape(i)[0])
    if not dim:
        parts: Value = _chosen_parts(f, value, i)
        return parts
    places = of_rows(i, 0) if is_list(i) else i
    return each_row(f, [places], lambda at: select(f, value, dim, at), dim, shape(places)[0])


def _part_by_int(f: Frame, node: ast.AST, e: ast.expr, value: Any, dim: int, i: Any) -> Value:
    """The part of a tensor at an int, along the dimension `dim`, which goes away."""
    of_run_time = isinstance(i, Dyn) and not isinstance(i.atom, n.Lit)
    if is_number(i) and type_of(i) != INT:
        return f.problem(e, f"a tensor is indexed with ints, slices, None and ... here, not {describe(type_of(i))}")
    if is_ragged(value) or of_run_time and not f.is_weight(value.atom):
        return select(f, value, dim, i)
    if of_run_time:
        if i.type != INT:
            return f.problem(e, "a tensor is indexed with ints, slices, None and ... here")
        return select(f, value, dim, i) if dim else f.bind(make_op("row", [value.atom, i.atom], {}, f.span), "row")
    at, extents = constant(i, "the index"), shape_of(value)
    if isinstance(at, bool) or not isinstance(at, int):
        return f.problem(e, "a tensor is indexed with ints, slices, None and ... here")
    if not -extents[dim] <= at < extents[dim]:
        return f.problem(node, f"index {at} is out of range for shape {extents}")
    return op(f, "index", [value], {"dim": dim, "i": at % extents[dim]})


def _chosen_by(f: Frame, node: ast.AST, x: Any, dim: int, chosen: Any) -> Any:
    """`x[mask]` along dimension `dim`: the parts where a mask is true, which stands for as many dimensions of the tensor as it
    has. The instance waits for the mask."""
    flags = chosen.value
    if len(shape(flags)) > len(shape(x)) - dim or not shape(flags):
        raise Refused(f"a mask of {len(shape(flags))} dimensions chooses no parts of a tensor of {len(shape(x))}")
    if len(shape(flags)) > 1:
        if dim:
            raise Refused("a mask of several dimensions chooses along the first ones here", "move these to the front")
        _same_extents(shape(x), shape(flags))
        rows = mapped(f, [as_rows(f, v, 0) for v in (x, flags)], lambda row, own: _chosen_by(f, node, row, 0, mask(own)))
        selected = of_rows(flattened(f, rows), 0)
        f.chosen_by_mask[variable_of(selected)] = variable_of(flags), x
        return selected
    parts, bools = shape(x)[dim], shape(flags)[0]
    _same_extents((parts,), (bools,))
    values = read_flags(f, flags)
    rows = as_rows(f, x, dim)
    if None in (parts, bools) and not is_unknown(rows) and not (is_ragged(flags) and origin_of(f, rows) == origin_of(f, flags)):
        check_equal(f, length(f, rows), extent_of(f, flags, 0))
    selected = f.call_with(selection.selected, [rows, values], node)
    if is_numbers(x) and dim == axis(x) and not is_unknown(selected):  # with the dimensions of extent 1 behind it
        return numbers(selected, dim, x.type.units)  # type: ignore[arg-type]
    return of_rows(selected, dim)


def _same_extents(extents: Sequence[int | None], of_mask: Sequence[int | None]) -> None:
    """Raises Refused where a mask has another extent than the dimension of which it chooses parts."""
    for parts, bools in zip(extents, of_mask, strict=False):
        if parts is not None and bools is not None and parts != bools:
            raise Refused(f"a mask of {bools} elements chooses among {parts} parts of a tensor", "give it one for each part")


def _chosen_parts(f: Frame, table: Dyn, places: Any) -> Any:
    """`table[places]` for a list of ints."""
    return looked_up(f, places, lambda at: _part(f, table, at))


def _part(f: Frame, table: Dyn, i: Value) -> Value:
    if f.is_weight(table.atom):
        return f.bind(make_op("row", [table.atom, f.atom(i)], {}, f.span), "row")
    return select(f, table, 0, i)


def _computed_ids(f: Frame, ids: Dyn) -> Value:
    """A computed tensor of ints, such as `argmax` of several rows gives, as an index: the instance waits. Raises Refused."""
    if len(shape(ids)) != 1:
        raise Refused("a tensor is indexed by tensors of one dimension here")
    parts = [op(f, "index", [ids], {"dim": 0, "i": i}) for i in range(shape(ids)[0] or 0)]
    return Held("ids", TupleV(tuple(_as_index(f, part) for part in parts)))


def _constant_bounds(f: Frame, e: ast.Slice) -> bool:
    with f.trial():
        return all(b is None or is_constant(f.expression(b)) for b in (e.lower, e.upper, e.step))


@handles(INDICES, "tensor")
def _as_index(f: Frame, value: Dyn) -> Value:
    """An int read from a tensor: the instance waits. Raises Refused for a tensor of floats."""
    if isinstance(value.type, TensorT) and value.type.dtype != "int64":
        raise Refused("a tensor of floats is no index", "write int(...)")
    return f.host("int", [item(f, value, "index")], INT)


@handles(INDICES, Held)
def _held_index(f: Frame, value: Held) -> Value:
    if value.kind == "extreme":
        raise Mismatch(value.refusal)
    return value.value if value.kind == "index" else ints_of(f, value)


@handles(INDICES, HostTensor)
def _constant_index(f: Frame, value: HostTensor) -> Value:
    return value.index()
