"""Assignment to elements of tensors that a function has made itself: `x[i] = y`, `x[mask] += y`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.types import FLOAT, INT, ListT, TensorT
from backends.acrobat.frontend.evaluator import list_changes
from backends.acrobat.frontend.evaluator.arguments import CallArguments, Refused, constant
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.indexing import as_index
from backends.acrobat.frontend.evaluator.lists import item_type, list_of, mapped
from backends.acrobat.frontend.evaluator.mutation import give
from backends.acrobat.frontend.evaluator.tables import AUGMENTED, ITEMS_PUT, PARTS_PUT, handles
from backends.acrobat.frontend.tensors.lifting import ADDS_NOTHING, as_rows, in_place, of_rows, op, select, shape
from backends.acrobat.frontend.tensors.mask_operations import true_places
from backends.acrobat.frontend.tensors.masks import as_mask, is_mask, mask
from backends.acrobat.frontend.tensors.operations import call_operation
from backends.acrobat.frontend.tensors.shapes import move
from backends.acrobat.frontend.tensors.slices import LARGEST
from backends.acrobat.frontend.values import (
    END,
    Dyn,
    Held,
    Static,
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
from backends.acrobat.library import selection


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
    chosen = as_mask(f, chosen)
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
    made = op(f, "add", [op(f, "full", [], {"shape": extents, "value": ADDS_NOTHING}), filled])
    if not is_unknown(made) and shape(made) != extents:
        raise Refused(f"a tensor of shape {shape(value)} does not fit into the place of shape {extents}")
    return made


def _put_at(f: Frame, x: Any, i: Dyn, rest: Sequence[ast.expr], value: Value) -> Value:
    """The tensor `x` of fixed shape with `value` in the part that an index known at run time only, and then `rest`, name."""
    extent = shape(x)[0] or 0
    if extent > LARGEST:
        what = f"an index that is known at run time only changes tensors of at most {LARGEST} rows, not {extent}"
        raise Refused(what, "append the rows to a list, and stack them")
    rows = as_rows(f, x, 0)
    at = list_changes.from_end(f, rows, i)
    new = _put(f, f.host("list.get", [rows, i], item_type(rows), "before"), rest, value)
    if is_unknown(new):
        return unknown()
    after = f.host("add", [at, Static(1)], INT, "after")
    whole = f.host("list.append", [list_changes.part(f, rows, Static(0), at), new], rows.type)
    whole = f.host("list.concat", [whole, list_changes.part(f, rows, after, Static(END))], rows.type)
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
        give(f, name, value)
    elif isinstance(before, Dyn) and getattr(f.atom(before), "name", "") in f.builder.fresh:
        in_place(f, before, lambda x: f.expression(sum, name))
    else:
        advice = f"write `{name} = {name} + ...` or the like, which makes a new tensor"
        f.problem(s, "this changes a tensor in place that may be seen under other names", advice)
