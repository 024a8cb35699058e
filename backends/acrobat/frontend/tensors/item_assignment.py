"""Assignment to parts of tensors that a function has made itself: `x[i] = y`, `x[:, 0::2] = y`, `x[mask] += y`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import torch

from backends.acrobat.core.types import BOOL, INT
from backends.acrobat.frontend.evaluator.changes.putting import ChangedPlace, give
from backends.acrobat.frontend.evaluator.expressions.indexing import as_index
from backends.acrobat.frontend.evaluator.frame.arguments import Refused, constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import note_lengths_of
from backends.acrobat.frontend.evaluator.tables import AUGMENTED, ITEMS_PUT, handles
from backends.acrobat.frontend.kinds import is_held_tensor, is_list, is_ragged, is_tensor, is_unknown, known, type_or_none
from backends.acrobat.frontend.tensors.cutting import Bounds, Index
from backends.acrobat.frontend.tensors.dtypes import as_floats, dtype_of, of_bools
from backends.acrobat.frontend.tensors.in_place import KEEPS_TYPE, in_place
from backends.acrobat.frontend.tensors.indexing import entries_of
from backends.acrobat.frontend.tensors.ints import is_ints, listed_ids, on_host, one, whole
from backends.acrobat.frontend.tensors.lifting import item, shape
from backends.acrobat.frontend.tensors.masks import as_mask, bools_of, is_mask, is_one_hot, ones_and_zeros
from backends.acrobat.frontend.tensors.replacing import replaced
from backends.acrobat.frontend.tensors.several_indices import index_value, ints_in
from backends.acrobat.frontend.tensors.values import HostTensor
from backends.acrobat.frontend.values import Dyn, Held, Static, Value


@handles(ITEMS_PUT, "tensor", "ragged")
def _put_item(f: Frame, s: ast.AST, name: str | ChangedPlace, x: Dyn, entries: Sequence[ast.expr], value: Value) -> None:
    indices = _indices(f, entries, len(shape(x)))
    if is_unknown(x) or any(is_unknown(i) for i in indices if not isinstance(i, Bounds)):
        return
    after = replaced(f, s, x, indices, _put_as(f, x, value))
    if isinstance(after, Dyn) and is_ragged(x):
        note_lengths_of(f, after, x)
    give(f, name, after)


@handles(ITEMS_PUT, Held)
def _put_into_mask(f: Frame, s: ast.AST, name: str | ChangedPlace, x: Held, entries: Sequence[ast.expr], value: Value) -> None:
    """`mask[i] = True` and the like, of a mask that the program has as ones and zeros; and of what `one_hot` gave."""
    is_known, constant_value = known(value)
    if not is_mask(x) and not (is_one_hot(x) and is_known and constant_value in (0, 1)):
        raise Refused("an item of this tensor of ints cannot be assigned to", "make it of a list of ints that has the item")
    indices = _indices(f, entries, len(shape(x.value)))
    if is_unknown(x.value) or is_unknown(value) or any(is_unknown(i) for i in indices if not isinstance(i, Bounds)):
        return
    if is_known and isinstance(constant_value, (bool, int, float)):
        flag: Value = Static(float(bool(constant_value)))
    else:
        flag = ones_and_zeros(f, as_mask(f, value))
    after = replaced(f, s, x.value, indices, flag)
    give(f, name, after if is_unknown(after) else Held(x.kind, after))


def _put_as(f: Frame, x: Dyn, value: Any) -> Value:
    """What is assigned to parts of `x`: a tensor of ints as the program's numbers, one of bools as floats among floats."""
    if isinstance(value, Held) and is_ints(value):
        return whole(f, value) if value.kind == "ids" else one(f, value)
    if of_bools(x) and is_mask(value):
        return bools_of(f, value) if shape(value.value) else f.host("gt", [item(f, value.value), Static(0.5)], BOOL)
    return as_floats(f, value) if of_bools(value) and dtype_of(x) == torch.float32 else value


def _indices(f: Frame, entries: Sequence[ast.expr], rank: int) -> list[Index]:
    """The indices of a tensor of this rank, each computed once. Raises Refused."""
    if len(entries) == 1:  # `x[place]` of a tuple
        entries = entries_of(f, entries[0])
    indices: list[Index] = []
    for k, e in enumerate(entries):
        match e:
            case ast.Constant(None):
                raise Refused("a part that is assigned to has no new dimension", "leave the `None` out")
            case ast.Constant(v) if v is Ellipsis:
                indices += [Bounds(None, None, 1)] * (rank - len(indices) - (len(entries) - k - 1))
            case ast.Slice(lower, upper, step):
                start, stop = _bound(f, lower), _bound(f, upper)
                by = 1 if step is None else constant(f.expression(step), "the step of a slice that is assigned to")
                if not isinstance(by, int) or by < 1:
                    raise Refused("the step of a slice of a tensor is an int above 0")
                indices.append(Bounds(start, stop, by))
            case _:
                indices.append(_index(f, e))
    if len(indices) > rank:
        raise Refused(f"{len(indices)} indices of a tensor of {rank} dimensions")
    return indices


def _bound(f: Frame, e: ast.expr | None) -> Value | None:
    value = None if e is None else f.borrowed(e)
    return None if value is None or value == Static(None) else as_index(f, value)


def _index(f: Frame, e: ast.expr) -> Value:
    """One index: an int, a mask, or the list of several ints. Raises Refused."""
    i: Any = index_value(f, e)
    if is_mask(i):
        return i
    if is_tensor(i) and shape(i) and i.type.dtype == "int64":
        i = on_host(f, i)
    elif not (isinstance(i, Held) and i.kind == "ids"):
        i = as_index(f, i)
    i = whole(f, listed_ids(f, ints_in(f, e, i)))
    if is_unknown(i):
        return i
    if is_list(i) or is_ragged(i):
        if i.type.item != INT or is_ragged(i) and len(shape(i)) != 1:
            raise Refused("the places that are assigned to are named by tensors or lists of ints, of one dimension each")
        return i
    if isinstance(i, Dyn) and i.type == INT or known(i)[0] and isinstance(known(i)[1], (int, bool)):
        return i
    raise Refused("the part of a tensor that is assigned to is named by ints, slices, masks, tensors of ints and ...")


@handles(AUGMENTED, "tensor", "ragged")
def _tensor_changed(f: Frame, s: ast.AugAssign, name: str, before: Value, sum: ast.BinOp) -> None:
    """`x += y` of a tensor, which changes it under all its names."""
    if name in f.owned:
        value = f.expression(sum, name)
        if of_bools(before) and is_mask(value):
            value = bools_of(f, value)
        if not is_unknown(value) and type_or_none(value) != type_or_none(before):
            f.problem(s, KEEPS_TYPE, f"write {f.written_anew(name, '+ ...')}")
        give(f, name, value)
    elif isinstance(before, Dyn) and getattr(f.atom(before), "name", "") in f.builder.fresh:
        in_place(f, before, lambda x: f.expression(sum, name))
    else:
        advice = f"write {f.written_anew(name, '+ ...')} or the like, which makes a new tensor"
        f.problem(s, "this changes a tensor in place that may be seen under other names", advice)


@handles(AUGMENTED, HostTensor)
def _buffer_changed(f: Frame, s: ast.AugAssign, name: str, before: HostTensor, sum: ast.BinOp) -> None:
    """`x += 1` of a buffer whose values are constants, which would change it for all instances."""
    f.problem(
        s,
        f"this changes `{before.name}` in place, a tensor of the model",
        f"write {f.written_anew(name, '+ ...')} or the like",
    )


@handles(AUGMENTED, Held)
def _held_changed(f: Frame, s: ast.AugAssign, name: str, before: Held, sum: ast.BinOp) -> None:
    """`keep &= mask`, `i += 1` of a tensor that the program has in another form: the name alone must refer to it."""
    alone = name in f.owned
    if is_held_tensor(before) and not alone:
        advice = f"write {f.written_anew(name, '...')}, which makes a new tensor"
        f.problem(s, "this changes a tensor in place that may be seen under other names", advice)
        return
    value = f.expression(sum, name)
    give(f, name, value)
    if not alone:
        f.owned.discard(name)
