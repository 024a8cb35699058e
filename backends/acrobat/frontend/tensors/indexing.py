"""Indexing of tensors, and assignment to elements of tensors that a function has made itself."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import torch

from backends.acrobat.core.types import FLOAT, INT, ListT, TensorT
from backends.acrobat.frontend.evaluator import lists, mutation
from backends.acrobat.frontend.evaluator.arguments import CallArguments, Refused, constant, is_constant
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.indexing import as_index, subscript
from backends.acrobat.frontend.evaluator.lists import item_type, list_of, mapped
from backends.acrobat.frontend.evaluator.mutation import give
from backends.acrobat.frontend.evaluator.tables import AUGMENTED, INDICES, ITEMS_PUT, PARTS_PUT, SUBSCRIPTS, handles
from backends.acrobat.frontend.tensors.host_tensors import element
from backends.acrobat.frontend.tensors.ints import is_ints, whole
from backends.acrobat.frontend.tensors.lifting import (
    as_floats,
    as_rows,
    dtype_of,
    each_row,
    in_place,
    item,
    joined,
    numbers,
    of_rows,
    op,
    select,
    shape,
)
from backends.acrobat.frontend.tensors.masks import is_mask, mask, read_flags, true_places
from backends.acrobat.frontend.tensors.operations import call_operation
from backends.acrobat.frontend.tensors.parts import sliced
from backends.acrobat.frontend.tensors.shapes import looked_up, move
from backends.acrobat.frontend.tensors.slices import one_part, one_place
from backends.acrobat.frontend.tensors.values import HostTensor
from backends.acrobat.frontend.tensors.windows import is_crop, size_of_window, window
from backends.acrobat.frontend.values import (
    END,
    Dyn,
    Held,
    Static,
    TupleV,
    Value,
    is_array,
    is_list,
    is_number,
    is_ragged,
    is_tensor,
    is_unknown,
    known,
    retyped,
    type_or_none,
    unknown,
)
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.make import make_op
from backends.acrobat.library import selection


@handles(SUBSCRIPTS, "tensor", "ragged")
def index_tensor(f: Frame, node: ast.AST, value: Dyn, index: ast.expr) -> Value:
    """`x[...]`, by None, `...`, slices, masks, tensors of ints, and ints (LANGUAGE.md: which may be known at run time only)."""
    entries = index.elts if isinstance(index, ast.Tuple) else [index]
    extents_before, dim = shape(value), 0
    first = [e for e in entries if not (isinstance(e, ast.Constant) and e.value is None)]
    behind = len(entries) - len(first)
    if len(first) > 1 and entries[: len(first)] == first and (pairs := _lists_of_places(f, first)):  # x[rows, columns, None]
        if len(first) > len(extents_before):
            return f.problem(node, f"too many indices for a tensor of shape {extents_before}")
        value = _chosen_by_several(f, value, pairs)  # type: ignore[assignment]
        for _ in range(behind):
            value = move(f, value, "unsqueeze", 1)  # type: ignore[assignment]
        return value
    crop = is_crop(f, value, entries)
    for k, e in enumerate(entries):
        extents: tuple[Any, ...] = shape(value)
        if isinstance(e, ast.Constant) and e.value is Ellipsis:
            dim = len(extents) - sum(not (isinstance(x, ast.Constant) and x.value is None) for x in entries[k + 1 :])
            continue
        if isinstance(e, ast.Constant) and e.value is None:
            value = move(f, value, "unsqueeze", dim)  # type: ignore[assignment]
            dim += 1
            continue
        if dim >= len(extents):
            return f.problem(node, f"too many indices for a tensor of shape {extents_before}")
        if isinstance(e, ast.Slice) and extents[dim] is None and e.step is not None:
            begin, end, by = (f.expression(b) if b else Static(None) for b in (e.lower, e.upper, e.step))
            if not isinstance(known(by)[1], int) or known(by)[1] < 1:
                return f.problem(e, "the step of a slice of a tensor is an int above 0, known at compile time")
            rows = as_rows(f, value, dim)
            rows = retyped(rows, ListT(item_type(rows)))
            value = of_rows(lists.sliced(f, e, rows, begin, end, by), dim)  # type: ignore[arg-type,assignment]
            dim += 1
            continue
        if isinstance(e, ast.Slice) and extents[dim] != 1 and (i := one_place(f, e)) is not None:  # x[t : t + 1]
            value = one_part(f, value, dim, i)  # type: ignore[assignment]
            dim += 1
            continue
        if isinstance(e, ast.Slice) and e.step is None and (is_ragged(value) or not _constant_bounds(f, e)):
            lower, upper = (f.expression(b) if b else None for b in (e.lower, e.upper))
            size = size_of_window(f, lower, upper) if crop else 0
            if size and lower is not None and extents[dim] is not None:
                value = window(f, value, dim, lower, size)  # type: ignore[assignment]
            else:
                value = sliced(f, value, dim, lower, upper)  # type: ignore[assignment]
            dim += 1
            continue
        if isinstance(e, ast.Slice):
            bounds = [constant(f.expression(b), "a bound of a tensor slice") if b else None for b in (e.lower, e.upper, e.step)]
            start, stop, step = slice(*bounds).indices(extents[dim])
            taken = range(start, stop, step)
            if step != 1 and not (step > 0 and 0 < len(taken) <= LARGEST):
                return f.problem(e, f"a slice with a step takes 1 to {LARGEST} parts of a fixed dimension, in their order")
            if step != 1:
                value = joined(f, [select(f, value, dim, Static(i)) for i in taken], dim)  # type: ignore[assignment]
            elif (start, stop) != (0, extents[dim]):
                value = op(f, "slice", [value], {"dim": dim, "start": start, "stop": max(start, stop)})
            dim += 1
            continue
        i = f.expression(e)
        if is_ragged(i) and dtype_of(i) == torch.bool:
            i = mask(as_floats(f, i))  # type: ignore[arg-type]
        if is_mask(i):
            value = _chosen_by(f, node, value, dim, i)
            if is_unknown(value):
                return unknown()
            dim += 1
            continue
        if isinstance(i, Dyn) and is_tensor(i) and shape(i):
            i = _computed_ids(f, i)
        elif not (isinstance(i, Held) and i.kind == "ids"):
            i = as_index(f, i)
        if is_unknown(i):
            return unknown()
        if is_list(i) and (listed := f.display(i)) and all(isinstance(known(v)[1], int) for v in listed):
            i = Held("ids", TupleV(tuple(listed)))
        if isinstance(i, Held) and i.kind == "ids":
            chosen = TupleV(tuple(select(f, value, dim, k) for k in f.components(i.value) or ()))
            value = call_operation(f, "stack", CallArguments("stack", [chosen, Static(dim)], {}))  # type: ignore[assignment]
            dim += 1
            continue
        if is_list(i) or is_ragged(i):
            if dtype_of(i) not in (None, torch.int64) or is_list(i) and i.type.item != INT:  # type: ignore[union-attr]
                return f.problem(e, "a tensor is indexed with ints, tensors of ints, slices, masks, None and ... here")
            if dim and is_ragged(i) and len(shape(i)) != 1:
                return f.problem(e, "a tensor of ints chooses along another dimension than the first if it has one dimension")
            if dim:
                places = of_rows(i, 0) if is_list(i) else i
                value = each_row(f, [places], lambda at, x=value, d=dim: select(f, x, d, at), dim, shape(places)[0])  # type: ignore[assignment,misc]
            else:
                value = _chosen_parts(f, value, i)  # type: ignore[assignment,arg-type]
            dim += 1
            continue
        if is_ragged(value) or isinstance(i, Dyn) and not isinstance(i.atom, n.Lit) and not f.is_weight(value.atom):
            value = select(f, value, dim, i)  # type: ignore[assignment]
            continue
        if isinstance(i, Dyn) and not isinstance(i.atom, n.Lit):
            if i.type != INT:
                return f.problem(e, "a tensor is indexed with ints, slices, None and ... here")
            if dim:
                value = select(f, value, dim, i)  # type: ignore[assignment]
                continue
            value = f.bind(make_op("row", [value.atom, i.atom], {}, f.span), "row")
            continue
        at = constant(i, "the index")
        if isinstance(at, bool) or not isinstance(at, int):
            return f.problem(e, "a tensor is indexed with ints, slices, None and ... here")
        if not -extents[dim] <= at < extents[dim]:
            return f.problem(node, f"index {at} is out of range for shape {extents}")
        value = op(f, "index", [value], {"dim": dim, "i": at % extents[dim]})
    return value


def _chosen_by(f: Frame, node: ast.AST, x: Any, dim: int, chosen: Any) -> Any:
    """`x[mask]` along dimension `dim`: the parts where a mask of one dimension is true. The instance waits for the mask."""
    flags = chosen.value
    if len(shape(flags)) != 1:
        raise Refused("a mask of one dimension chooses parts of a tensor here", "use torch.where, or masked_fill")
    numbers = read_flags(f, flags)
    rows = as_rows(f, x, dim)
    kept = f.program.call(f, ast.copy_location(ast.Pass(), node), selection.kept, [rows, numbers], {})
    return of_rows(kept, dim)


def _lists_of_places(f: Frame, entries: Sequence[ast.expr]) -> list[Any]:
    """The lists of ints by which `x[rows, columns]` chooses one element for each pair; [] if an entry is anything else."""
    if any(isinstance(e, (ast.Slice, ast.Constant)) for e in entries):
        return []
    with f.trial():
        values = [f.borrowed(e) for e in entries]
        several = all(is_ints(v) and not is_number(v) and (is_ragged(v) or v.kind == "ids") for v in values)  # type: ignore
    return [whole(f, f.borrowed(e)) for e in entries] if several else []


def _chosen_by_several(f: Frame, x: Any, places: Sequence[Any]) -> Value:
    """`x[rows, columns]`: the elements whose indices stand at one place of the tensors of ints. Raises Refused."""
    if any(len(shape(p)) != 1 for p in places):
        raise Refused("several tensors of ints that are indices have one dimension each here")

    def element(*at: Value) -> Value:
        part: Any = _part(f, x, at[0])
        for i in at[1:]:
            part = select(f, part, 0, i)
        return part  # type: ignore[no-any-return]

    sizes = [shape(p)[0] for p in places]
    return each_row(f, places, element, 0, None if None in sizes else sizes[0])


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
    return value.value if value.kind == "index" else value


@handles(INDICES, HostTensor)
def _constant_index(f: Frame, value: HostTensor) -> Value:
    return value.index()


@handles(SUBSCRIPTS, HostTensor)
def _of_host_tensor(f: Frame, node: ast.AST, value: HostTensor, index: ast.expr) -> Value:
    listed = numbers_of(f, value)
    if listed is not None and not _constant_index_of(f, index):
        return index_tensor(f, node, listed, index)  # type: ignore[no-any-return]
    return element(f, value, index)


def _constant_index_of(f: Frame, index: ast.expr) -> bool:
    """Whether all ints and bounds of an index are known at compile time."""
    entries = index.elts if isinstance(index, ast.Tuple) else [index]
    bounds = [b for e in entries for b in ((e.lower, e.upper, e.step) if isinstance(e, ast.Slice) else (e,)) if b is not None]
    with f.trial():
        return all(not isinstance(v, Dyn) or isinstance(v.atom, n.Lit) for v in map(f.expression, bounds))


def numbers_of(f: Frame, value: HostTensor) -> Dyn | None:
    """A buffer of ints with one dimension, and others of extent 1 around it, as a tensor of ints of the program; else None."""
    t = value.tensor
    wider = [d for d, e in enumerate(t.shape) if e != 1]
    if t.dtype not in (torch.int64, torch.int32) or len(wider) != 1:
        return None
    found = t.reshape(-1).tolist()
    step = found[1] - found[0]
    if step and found == list(range(found[0], found[-1] + step, step)):
        ends = [Static(x) for x in (found[0], found[-1] + step, step)]
        listed = f.host("range", ends, ListT(INT))
    else:
        listed = f.bind(n.ListOf(tuple(n.Lit(x, INT, span=f.span) for x in found), ListT(INT), span=f.span), "numbers")
    return numbers(listed, wider[0], t.ndim - 1 - wider[0])


@handles(SUBSCRIPTS, Held)
def _of_ids(f: Frame, node: ast.AST, value: Held, index: ast.expr) -> Value:
    if is_mask(value):
        return mask(subscript(f, node, value.value, index))
    if value.kind != "ids" or not isinstance(value.value, TupleV):
        return f.problem(node, "this cannot be indexed")
    items = value.value.items
    is_known, at = known(f.expression(index))
    if not is_known or not isinstance(at, int) or not -len(items) <= at < len(items):
        return f.problem(node, "an int of this tensor is chosen by a constant index")
    return Held("index", items[at])


# ---- in place


@handles(ITEMS_PUT, "tensor")
def _put_item(f: Frame, s: ast.AST, name: str, x: Dyn, entries: Sequence[ast.expr], value: Value) -> None:
    if len(entries) == 1 and not isinstance(entries[0], ast.Slice):
        whole = _put_parts(f, s, x, f.borrowed(entries[0]), value)
        if whole is not None:
            give(f, name, whole)
            return
    give(f, name, _put(f, x, entries, value))


def _put_parts(f: Frame, s: ast.AST, x: Dyn, chosen: Value, value: Value) -> Value | None:
    """`x[mask] = value` and `x[places] = value`: the tensor with other parts where the mask is true, or at the
    places that a list or tensor of ints names."""
    if isinstance(chosen, Held) and is_mask(chosen):
        flags: Any = chosen.value
        if is_number(value):
            for _ in range(len(shape(x)) - len(shape(flags))):
                flags = move(f, flags, "unsqueeze", len(shape(flags)))
            return call_operation(f, "where", CallArguments("where", [mask(flags), f.coerce(value, FLOAT), x], {}))
        if len(shape(flags)) != 1 or not is_ragged(x):
            raise Refused("a mask of one dimension chooses the parts of a tensor that are assigned to", "use torch.where")
        (places,) = true_places(f, s, flags)
    elif isinstance(chosen, Dyn) and is_ragged(x) and (is_list(chosen) or is_ragged(chosen)) and item_type(chosen) == INT:
        places = chosen
    else:
        return None
    rows, places = as_rows(f, x, 0), retyped(places, ListT(INT))
    if is_array(value) and len(shape(value)) == len(shape(x)):
        parts: Any = as_rows(f, value, 0)
    else:
        parts = mapped(f, [places], lambda _: f.coerce(value, item_type(rows)))
    where = ast.copy_location(ast.Pass(), s)
    return of_rows(f.program.call(f, where, selection.replaced, [rows, places, parts], {}), 0)


PARTS_PUT.append(_put_parts)


def _put_row(f: Frame, s: ast.AST, x: Dyn, i: Value, value: Value) -> Value | None:
    """`x[i] = row` of a tensor whose extent varies, where the row has dimensions of extent 1 in front, or other extents that
    are broadcast; None for others."""
    if not is_ragged(x) or not is_tensor(value) or not isinstance(item_type(x), TensorT) or item_type(x) == value.type:  # type: ignore[union-attr]
        return None
    row = _filled(f, item_type(x).shape, value)
    items = [as_rows(f, x, 0), list_of(f, s, [as_index(f, i)]), list_of(f, s, [row])]
    return of_rows(f.program.call(f, ast.copy_location(ast.Pass(), s), selection.replaced, items, {}), 0)


PARTS_PUT.append(_put_row)


def _filled(f: Frame, extents: tuple[int, ...], value: Value) -> Dyn:
    """A tensor of this shape for `value`, which is broadcast. As in torch it may have dimensions of extent 1 in front."""
    filled: Any = value if is_tensor(value) else f.coerce(value, TensorT(()))
    if is_ragged(filled):
        raise Refused("a tensor whose extent varies cannot be put into one of fixed shape")
    while len(shape(filled)) > len(extents) and shape(filled)[0] == 1:
        filled = select(f, filled, 0, Static(0))
    made = op(f, "add", [op(f, "full", [], {"shape": extents, "value": 0.0}), filled])
    if not is_unknown(made) and shape(made) != extents:
        raise Refused(f"a tensor of shape {shape(value)} does not fit into the place of shape {extents}")
    return made


LARGEST = 64
"""The most rows of a tensor of fixed shape that an index known at run time only changes."""


def _put_at(f: Frame, x: Any, i: Dyn, rest: Sequence[ast.expr], value: Value) -> Value:
    """The tensor `x` of fixed shape with `value` in the part that an index known at run time only, and then `rest`, name."""
    extent = shape(x)[0] or 0
    if extent > LARGEST:
        what = f"an index that is known at run time only changes tensors of at most {LARGEST} rows, not {extent}"
        raise Refused(what, "append the rows to a list, and stack them")
    rows = as_rows(f, x, 0)
    at = mutation.from_end(f, rows, i)
    new = _put(f, f.host("list.get", [rows, i], item_type(rows), "before"), rest, value)
    if is_unknown(new):
        return unknown()
    after = f.host("add", [at, Static(1)], INT, "after")
    whole = f.host("list.append", [mutation.part(f, rows, Static(0), at), new], rows.type)
    whole = f.host("list.concat", [whole, mutation.part(f, rows, after, Static(END))], rows.type)
    return op(f, "stack", [f.host("list.get", [whole, Static(k)], item_type(rows)) for k in range(extent)], {"dim": 0})


def _put(f: Frame, x: Any, entries: Sequence[ast.expr], value: Value) -> Value:
    """The tensor `x` with `value` at the place that the indices and constant slices in `entries` name. Raises Refused."""
    assert isinstance(x.type, TensorT)
    extents = x.type.shape
    if not entries:
        return _filled(f, extents, value)
    first, *rest = entries
    if isinstance(first, ast.Slice):
        bounds = [None if b is None else constant(f.expression(b), "a bound") for b in (first.lower, first.upper, first.step)]
        places = list(range(extents[0]))[slice(*bounds)]
        whole = is_tensor(value) and len(shape(value)) == 1 + len(extents[1 + len(rest) :])

        def inner(i: int) -> Value:
            return select(f, value, 0, Static(places.index(i))) if whole else value  # type: ignore[arg-type]

        rows = [
            _put(f, select(f, x, 0, Static(i)), rest, inner(i)) if i in places else select(f, x, 0, Static(i))
            for i in range(extents[0])
        ]  # type: ignore[arg-type]
        return op(f, "stack", rows, {"dim": 0})
    i = as_index(f, f.expression(first))
    if is_unknown(i):
        return unknown()
    if isinstance(i, Dyn) and i.type == INT and not known(i)[0]:
        return _put_at(f, x, i, rest, value)
    at = constant(i, "an index that is assigned to")
    if isinstance(at, bool) or not isinstance(at, int) or not -extents[0] <= at < extents[0]:
        raise Refused(f"index {at} is out of range for shape {extents}")
    at %= extents[0]
    new = _put(f, select(f, x, 0, Static(at)), rest, value)  # type: ignore[arg-type]
    parts = [op(f, "slice", [x], {"dim": 0, "start": 0, "stop": at})] if at else []
    parts.append(call_operation(f, "unsqueeze", CallArguments("unsqueeze", [new, Static(0)], {})))  # type: ignore[arg-type]
    if at + 1 < extents[0]:
        parts.append(op(f, "slice", [x], {"dim": 0, "start": at + 1, "stop": extents[0]}))
    return parts[0] if len(parts) == 1 else op(f, "cat", parts, {"dim": 0})


@handles(AUGMENTED, "tensor", "ragged")
def _tensor_changed(f: Frame, s: ast.AugAssign, name: str, before: Value, sum: ast.BinOp) -> None:
    """`x += y` of a tensor, which changes it under all its names."""
    if name in f.owned:
        value = f.expression(sum, name)
        if not is_unknown(value) and type_or_none(value) != type_or_none(before):
            f.problem(s, "a tensor that is changed in place keeps its shape and type", f"write `{name} = {name} + ...`")
        mutation.give(f, name, value)
    elif isinstance(before, Dyn) and getattr(f.atom(before), "name", "") in f.builder.fresh:
        in_place(f, before, lambda x: f.expression(sum, name))
    else:
        advice = f"write `{name} = {name} + ...` or the like, which makes a new tensor"
        f.problem(s, "this changes a tensor in place that may be seen under other names", advice)
