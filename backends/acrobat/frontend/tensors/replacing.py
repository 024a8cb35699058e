"""Tensors with other parts in some places, which is what `x[...] = value` makes of `x`.

A tensor of fixed shape is cut at constant bounds, and joined again (`cutting.py`). Everywhere else a tensor is the list of its
parts along the first dimension, some of which are replaced.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import torch

from backends.acrobat.core.types import BOOL, FLOAT, INT, ListT, ScalarT
from backends.acrobat.frontend.evaluator.changes.indices import from_end
from backends.acrobat.frontend.evaluator.changes.list_changes import part
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.broadcasting import of_one_length
from backends.acrobat.frontend.evaluator.lists.lengths import at, item_type, length
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
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
from backends.acrobat.frontend.tensors.cutting import Bounds, Index, cut_and_joined, filled_to
from backends.acrobat.frontend.tensors.dtypes import dtype_of
from backends.acrobat.frontend.tensors.in_place import KEEPS_TYPE
from backends.acrobat.frontend.tensors.lifting import (
    as_rows,
    axis,
    elementwise,
    is_numbers,
    select,
    shape,
    shape_of,
    stack_parts,
)
from backends.acrobat.frontend.tensors.masks import is_mask, mask, ones_and_zeros
from backends.acrobat.frontend.tensors.operations import call_operation
from backends.acrobat.frontend.tensors.several_indices import places_of_mask
from backends.acrobat.frontend.tensors.shapes import move
from backends.acrobat.frontend.tensors.slices import LARGEST
from backends.acrobat.frontend.values import END, Dyn, Static, Value, unknown
from backends.acrobat.library import changing, iteration, selection


def replaced(f: Frame, s: ast.AST, x: Any, indices: Sequence[Index], value: Value) -> Value:
    """The tensor `x` with `value` in the part that the indices name; `value` is broadcast, as PyTorch does. Raises Refused."""
    if is_unknown(x):
        return unknown()
    if not indices or _is_scalar(x) and all(isinstance(i, Bounds) or known(i) in ((True, 0), (True, -1)) for i in indices):
        return _fitted(f, x, value)
    if is_tensor(x) and all(map(_is_constant, indices)):
        return cut_and_joined(f, x, indices, value)
    indices = _beside_each_other(f, s, x, indices)
    first, *rest = indices
    if is_mask(first) or type_or_none(first) == BOOL:
        result = _by_mask(f, x, first, rest, value)
        if result is not None:
            return result
        first = places_of_mask(f, s, x, 0, first)
        if is_unknown(first):
            return unknown()
    if is_tensor(x) and (shape(x)[0] or 0) > LARGEST and not isinstance(first, Bounds) and not _pairs(first, rest):
        return _by_places(f, s, x, first, rest, value)
    rows = _rows(f, x)
    if _pairs(first, rest):
        return _pairs_replaced(f, s, x, [first, rest[0]], rest[1:], value)
    if not _is_places(first) and not isinstance(first, Bounds):
        return _one_replaced(f, s, x, rows, first, rest, value)
    own, value = _own_rows(f, value, _rank([first, *rest], len(shape(x))))

    def changed(chosen: Any) -> Any:
        return _each(f, chosen, own, value, lambda row, v: replaced(f, s, row, rest, v))

    if isinstance(first, Bounds) and first.all:
        return _of_parts(f, x, changed(rows))
    if isinstance(first, Bounds):
        limits = [length(f, rows), *(Static(None) if b is None else b for b in (first.start, first.stop)), Static(first.step)]
        ends = f.components(f.call_with(iteration.bounds, limits, s), 2)
        if ends is None:
            return unknown()
        start, stop = ends
        if first.step == 1:
            stop = f.host("max", [start, stop], INT, "stop")
            kept = [part(f, rows, Static(0), start), part(f, rows, stop, Static(END))]
            return _of_parts(f, x, _joined(f, kept[0], changed(part(f, rows, start, stop)), kept[1]))
        first = f.host("range", [start, stop, Static(first.step)], ListT(INT))
    places = retyped(first, ListT(INT))
    others = changed(mapped(f, [places], lambda i: at(f, rows, i)))
    return _of_parts(f, x, _called(f, s, selection.replaced, [rows, places, others]))


def _beside_each_other(f: Frame, s: ast.AST, x: Any, indices: Sequence[Index]) -> Sequence[Index]:
    """The indices, of which two that name several parts each are tensors of ints, as PyTorch takes masks then. Raises Refused
    where there are more than two of these, or others between them."""
    several = [k for k, i in enumerate(indices) if _is_places(i) or is_mask(i)]
    if len(several) < 2:
        return indices
    if several != [several[0], several[0] + 1]:
        raise Refused("of the indices of a part that is assigned to two may name several places each, beside each other")
    return [places_of_mask(f, s, x, k, i) if is_mask(i) else i for k, i in enumerate(indices)]


def _is_scalar(x: Any) -> bool:
    """Whether a part is a number of the host, an element of a tensor of ints or bools."""
    return isinstance(type_of(x), ScalarT)


def _is_constant(i: Index) -> bool:
    values = [b for b in (i.start, i.stop) if b is not None] if isinstance(i, Bounds) else [i]
    return all(known(v)[0] and isinstance(known(v)[1], int) and not isinstance(known(v)[1], bool) for v in values)


def _is_places(i: Index) -> bool:
    return not isinstance(i, Bounds) and (is_list(i) or is_ragged(i))


def _pairs(first: Index, rest: Sequence[Index]) -> bool:
    """Whether the first two indices choose elements by two tensors of ints."""
    return _is_places(first) and bool(rest) and _is_places(rest[0])


def _rank(indices: Sequence[Index], rank: int) -> int:
    """How many dimensions the part has that the indices name in a tensor of this rank."""
    several = sum(_is_places(i) or is_mask(i) for i in indices)
    return rank - sum(not isinstance(i, Bounds) for i in indices) + min(several, 1)


def _called(f: Frame, s: ast.AST, function: Callable[..., Any], args: list[Value]) -> Value:
    if any(map(is_unknown, args)):
        return unknown()
    return f.call_with(function, args, s)


# ---- tensors as lists of parts


def _rows(f: Frame, x: Any) -> Dyn:
    """The parts of a tensor along its first dimension."""
    if not is_ragged(x) and (shape(x)[0] or 0) > LARGEST:
        what = f"an index that is known at run time only changes tensors of at most {LARGEST} rows, not {shape(x)[0]}"
        raise Refused(what, "append the rows to a list, and stack them")
    return as_rows(f, x, 0)


def _of_parts(f: Frame, x: Any, rows: Any) -> Value:
    """The tensor like `x` whose parts along the first dimension are these."""
    if is_unknown(rows):
        return unknown()
    if is_ragged(x) and axis(x) == 0:
        if item_type(rows) != item_type(x):
            raise Refused(KEEPS_TYPE)
        return retyped(rows, type_of(x))
    if is_numbers(x):
        return retyped(at(f, rows, Static(0)), type_of(x))
    return stack_parts(f, [at(f, rows, Static(i)) for i in range(shape(x)[0] or 0)], 0)


def _joined(f: Frame, *lists: Any) -> Value:
    if any(map(is_unknown, lists)):
        return unknown()
    result = lists[0]
    for more in lists[1:]:
        if more.type != result.type:
            raise Refused(KEEPS_TYPE)
        result = f.host("list.concat", [result, more], result.type)
    return result


def _own_rows(f: Frame, value: Any, rank: int) -> tuple[Any, Any]:
    """The parts of `value` for the parts of a tensor of this rank one by one, or None where all get the same; and the value."""
    if is_number(value) or is_mask(value):
        return None, value
    while len(shape(value)) > rank and shape(value)[0] == 1:
        value = select(f, value, 0, Static(0))
    if len(shape(value)) > rank:
        raise Refused(f"a tensor of {len(shape(value))} dimensions does not fit into a part of {rank}")
    if len(shape(value)) < rank:
        return None, value
    if shape(value)[0] == 1:
        return None, select(f, value, 0, Static(0))
    return as_rows(f, value, 0), value


def _each(f: Frame, rows: Any, own: Any, value: Value, work: Callable[[Any, Any], Any]) -> Any:
    """`work(row, part)` for each row, with its own part of what is assigned, or the same value for all."""
    if is_unknown(rows) or own is not None and is_unknown(own):
        return unknown()
    if own is None:
        return mapped(f, [rows], lambda row: work(row, value))
    return mapped(f, of_one_length(f, [rows, own], [None, None], (1,)), work)


def _one_replaced(f: Frame, s: ast.AST, x: Any, rows: Dyn, i: Value, rest: Sequence[Index], value: Value) -> Value:
    """`x[i, ...] = value` for an int."""
    extent = shape(x)[0]
    if extent is not None and known(i)[0] and not -extent <= known(i)[1] < extent:
        raise Refused(f"index {known(i)[1]} is out of range for shape {shape(x)}")
    before = f.host("list.get", [rows, i], item_type(rows), "before")  # an index outside is an error of the instance
    new = replaced(f, s, before, rest, value)
    if is_unknown(new):
        return unknown()
    if type_of(new) != item_type(rows):
        raise Refused(KEEPS_TYPE)
    place = from_end(f, rows, i)
    after = f.host("add", [place, Static(1)], INT, "after")
    whole = f.host("list.append", [part(f, rows, Static(0), place), new], rows.type)
    return _of_parts(f, x, f.host("list.concat", [whole, part(f, rows, after, Static(END))], rows.type))


def _by_places(f: Frame, s: ast.AST, x: Any, first: Any, rest: Sequence[Index], value: Any) -> Value:
    """`x[i, ...] = value` and `x[places, ...] = value` of a tensor with many rows: each row is the one from before or the new
    one, by a mask, so that the tensor is not taken apart. Raises Refused."""
    if not _is_places(first):
        return _one_by_mask(f, s, x, first, rest, value)
    own, value = _own_rows(f, value, _rank([first, *rest], len(shape(x))))
    places = retyped(first, ListT(INT))
    if own is None and not rest:
        chosen = _called(f, s, changing.among, [x, places])
        return unknown() if is_unknown(chosen) else _called(f, s, changing.where_chosen, [x, chosen, _row_of(f, x, value)])
    if rest:
        raise Refused(
            f"places that are known at run time only change tensors of at most {LARGEST} rows where more indices follow",
            "change one place after the other in a loop",
        )
    return _called(f, s, changing.replaced_in_turn, [x, places, own])


def _one_by_mask(f: Frame, s: ast.AST, x: Any, i: Value, rest: Sequence[Index], value: Any) -> Value:
    """`x[i, ...] = value` for an int."""
    new: Any = value
    if rest:
        before = _called(f, s, changing.row_at, [x, i])
        new = replaced(f, s, before, rest, value)
    if is_unknown(new):
        return unknown()
    return _called(f, s, changing.replaced_at, [x, i, _row_of(f, x, new)])


def _row_of(f: Frame, x: Any, value: Any) -> Any:
    """What is assigned to a row of `x`: of its type, and where it is a tensor, of its shape. Raises Refused."""
    if is_number(value) and dtype_of(x) != torch.int64:
        return f.coerce(value, FLOAT)
    if dtype_of(x) == torch.int64 and type_or_none(value) not in (INT, BOOL) and dtype_of(value) != torch.int64:
        raise Refused("what is put among ints is an int", "write `int(...)`")
    return value if is_number(value) else filled_to(f, shape_of(x)[1:], value)


def _by_mask(f: Frame, x: Any, chosen: Any, rest: Sequence[Index], value: Any) -> Value | None:
    """`x[mask] = number` and `x[mask] = y[mask]`, by a mask of any rank. None for what a mask of one dimension chooses part by
    part. Raises Refused."""
    flags = ones_and_zeros(f, chosen)
    single = is_number(value) or is_tensor(value) and not shape(value)
    floats = is_tensor(x) or is_ragged(x) and not is_numbers(x) and not _is_scalar(x)
    if single and floats and not rest and len(shape(flags)) <= len(shape(x)):
        for _ in range(len(shape(x)) - len(shape(flags))):
            flags = move(f, flags, "unsqueeze", len(shape(flags)))
        of_ints = dtype_of(x) == torch.int64
        if of_ints and type_or_none(value) not in (INT, BOOL):
            raise Refused("what is put among ints is an int", "write `int(...)`")
        number = f.coerce(value, FLOAT) if is_number(value) and not of_ints else value
        with f.broadcasting(()):
            return call_operation(f, "where", CallArguments("where", [mask(flags), number, x], {}))
    of_mask, other = f.chosen_by_mask.get(variable_of(value), ("", None))
    if other is not None and of_mask == variable_of(chosen.value):
        with f.broadcasting(()):
            return call_operation(f, "where", CallArguments("where", [chosen, other, x], {}))
    if not is_mask(chosen) or len(shape(flags)) != 1:
        raise Refused("a mask of one dimension chooses the parts of a tensor that are assigned to", "use torch.where")
    return None


def _pairs_replaced(f: Frame, s: ast.AST, x: Any, places: Sequence[Any], rest: Sequence[Index], value: Any) -> Value:
    """`x[rows, columns] = value`: the elements whose two indices stand at one place of two tensors of ints."""
    if any(not isinstance(i, Bounds) or not i.all for i in rest):
        raise Refused("two tensors of ints choose the elements that are assigned to, with no index behind them")
    rows = _rows(f, x)
    table = mapped(f, [rows], lambda row: _rows(f, row))
    firsts, seconds = (retyped(p, ListT(INT)) for p in places)
    chosen = mapped(f, [firsts, seconds], lambda i, j: at(f, at(f, table, i), j))
    own, value = _own_rows(f, value, len(shape(x)) - 1)
    others = _each(f, chosen, own, value, lambda cell, v: _fitted(f, cell, v))
    whole: Any = _called(f, s, selection.replaced_in_rows, [table, firsts, seconds, others])
    if is_unknown(whole):
        return unknown()
    return _of_parts(f, x, mapped(f, [rows, whole], lambda row, cells: _of_parts(f, row, cells)))


# ---- what is put into a place


def _fitted(f: Frame, x: Any, value: Any) -> Value:
    """`value` in the shape and type of `x`."""
    if is_unknown(x):
        return unknown()
    if _is_scalar(x):
        return f.coerce(value, type_of(x))
    if is_mask(value):
        value = ones_and_zeros(f, value)
    if not is_ragged(x):
        return filled_to(f, shape_of(x), value)
    _, value = _own_rows(f, value, len(shape(x)))
    result: Any = elementwise(f, [x, value], lambda v: _fitted(f, *v), (1,))
    if not is_unknown(result) and type_of(result) != type_of(x):
        raise Refused(f"a tensor of shape {shape(value)} does not fit into the place of shape {shape(x)}")
    return result


# ---- tensors of fixed shape, and constant indices
