"""Functions and methods that take masks or give them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import torch

from backends.acrobat.core.types import BOOL, INT, ScalarT
from backends.acrobat.frontend.evaluator.choices.choice import choose
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import item_type
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.evaluator.tables import handles
from backends.acrobat.frontend.kinds import is_array, is_number, is_ragged, is_tensor, known, type_or_none, variable_of
from backends.acrobat.frontend.tensors.broadcasting import broadcast_in
from backends.acrobat.frontend.tensors.dtypes import as_floats, dtype_of, of_bools
from backends.acrobat.frontend.tensors.ints import arranged, computed, elements, is_ints, on_host, on_host_in_parts
from backends.acrobat.frontend.tensors.lifting import (
    as_rows,
    elementwise,
    item,
    numbers_in,
    of_rows,
    op,
    select,
    shape,
    stack_parts,
)
from backends.acrobat.frontend.tensors.masks import (
    bool_in,
    bools_of,
    both,
    finite_or_tensor,
    is_mask,
    mask,
    negated,
    ones_and_zeros,
    plain,
    read_of,
)
from backends.acrobat.frontend.tensors.operations import call_operation, either, operation, ragged
from backends.acrobat.frontend.tensors.shapes import move
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import HELD, Held, Static, TupleV, Value
from backends.acrobat.library import selection

MOVES = frozenset(
    {
        "unsqueeze",
        "squeeze",
        "transpose",
        "t",
        "permute",
        "view",
        "reshape",
        "flatten",
        "expand",
        "expand_as",
        "repeat",
        "contiguous",
    }
    | {"select", "narrow", "clone", "detach"}
)
"""Operations that move or select elements: of a mask they give a mask."""


MASK_OPERATIONS: dict[str, Callable[[Frame, CallArguments], Value]] = {}
"""The handlers of the other operations that take masks, by name."""


TAKE_MASKS = {"where", "masked_fill"}
"""Operations on tensors whose handlers know masks."""


def with_masks(f: Frame, name: str, call: CallArguments) -> Value:
    """The operation `name`, with masks among its arguments. Raises Refused, Mismatch."""
    if name in MASK_OPERATIONS:
        return MASK_OPERATIONS[name](f, call)
    first = call.args[0]
    if name in MOVES and isinstance(first, Held) and is_mask(first):
        return mask(call_operation(f, name, CallArguments(name, [first.value, *call.args[1:]], call.kwargs)))
    if name in TAKE_MASKS:
        return call_operation(f, name, call)
    raise Mismatch(HELD["mask"])


@handles(MASK_OPERATIONS, "dim", "size", "numel")
def _of_plain_tensors(f: Frame, call: CallArguments) -> Value:
    return call_operation(f, call.name, CallArguments(call.name, [plain(v) for v in call.args], call.kwargs))


@handles(MASK_OPERATIONS, "float")
def _float(f: Frame, call: CallArguments) -> Value:
    return floats_of(f, call.args[0])


def floats_of(f: Frame, x: Value) -> Value:
    """The ones and zeros of a mask, as a tensor of its own: the mask stays as it is where the model changes that in place."""
    ones = ones_and_zeros(f, x)
    return call_operation(f, "clone", CallArguments("clone", [ones], {})) if is_tensor(ones) else ones


@handles(MASK_OPERATIONS, "bool")
def _same(f: Frame, call: CallArguments) -> Value:
    return mask(plain(call.args[0]))


@handles(MASK_OPERATIONS, "tolist")
def _listed(f: Frame, call: CallArguments) -> Value:
    """The bools of a mask as lists, or its only one. The instance waits for them."""
    bools = bools_of(f, call.args[0])
    return call_operation(f, call.name, CallArguments(call.name, [bools], {})) if is_ragged(bools) else bools


@handles(MASK_OPERATIONS, "logical_not", "bitwise_not")
def _not(f: Frame, call: CallArguments) -> Value:
    return negated(f, call.args[0])


@handles(MASK_OPERATIONS, "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or")
def _both(f: Frame, call: CallArguments) -> Value:
    sides = [v if is_mask(v) or not call.name.startswith("logical") else as_mask(f, v) for v in call.args]
    return both(f, "bit" + call.name.rpartition("_")[2], *sides)


@handles(MASK_OPERATIONS, "item")
def _item(f: Frame, call: CallArguments) -> Value:
    return bool_in(f, call.args[0])  # type: ignore[arg-type]


@handles(MASK_OPERATIONS, "any", "all")
def _any(f: Frame, call: CallArguments) -> Value:
    """`any` or `all` of a mask: a bool, for which the instance waits; along a dimension a mask."""
    x = plain(call.args[0])
    whole = len(call.args) == 1 and not call.kwargs
    if whole and is_ragged(x):  # which may be empty: count those that decide
        decisive = x if call.name == "any" else plain(negated(f, call.args[0]))
        count = item(f, call_operation(f, "sum", CallArguments("sum", [decisive], {})), "value")  # type: ignore[arg-type]
        return read_of(f.host("gt" if call.name == "any" else "lt", [count, Static(0.5)], BOOL))
    name = "amax" if call.name == "any" else "amin"
    result = call_operation(f, name, CallArguments(name, [x, *call.args[1:]], call.kwargs))
    if not whole:
        return mask(result)
    return read_of(f.host("gt", [item(f, result, "value"), Static(0.5)], BOOL), lambda: mask(result))  # type: ignore[arg-type]


@handles(MASK_OPERATIONS, "sum")
def _count(f: Frame, call: CallArguments) -> Value:
    """`sum` of a mask: how many elements are true, in all or along a dimension. The instance waits for these ints."""
    if len(call.args) > 1 or call.kwargs:
        return as_ints(f, call_operation(f, "sum", CallArguments("sum", [plain(call.args[0]), *call.args[1:]], call.kwargs)))
    total = call_operation(f, "sum", CallArguments("sum", [plain(call.args[0])], {}))
    return Held("index", f.host("int", [item(f, total, "value")], INT))  # type: ignore[arg-type]


FINDING_PLACES = {
    1: (selection.places,),
    2: (selection.places_of_rows, selection.places_in_rows),
    3: (selection.places_of_matrices, selection.rows_in_matrices, selection.columns_in_matrices),
}
"""The number of a mask's dimensions -> what finds the indices along each of them at which it is true."""


def true_places(f: Frame, node: ast.AST, flags: Any) -> list[Any]:
    """The indices at which a mask of one, two or three dimensions is true, as a tensor of ints for each dimension. The instance
    waits for the mask. Raises Refused."""
    rank = len(shape(flags))
    if rank not in FINDING_PLACES:
        raise Refused(f"the places of a mask of {rank} dimensions are not in the language", "take those of each part")
    numbers = read_flags(f, flags)
    return [of_rows(f.call_with(g, [numbers], node), 0) for g in FINDING_PLACES[rank]]


def read_flags(f: Frame, flags: Any) -> Any:
    """The ones and zeros of a mask as a list of floats, of several dimensions in lists. The instance waits for them."""
    if not shape(flags):
        return item(f, flags)
    return mapped(f, [as_rows(f, flags, 0)], lambda part: read_flags(f, part))


@either("logical_not")
def _logical_not(f: Frame, call: CallArguments) -> Value:
    """Of numbers: the mask of the zeros."""
    return negated(f, as_mask(f, call.args[0]))


@either("logical_and", "logical_or", "logical_xor")
def _logical(f: Frame, call: CallArguments) -> Value:
    """Of numbers, or numbers and masks: what is not zero counts as true."""
    sides = [v if is_mask(v) else as_mask(f, v) for v in call.bind("input", "other")]
    return both(f, "bit" + call.name.rpartition("_")[2], *sides)


@handles(MASK_OPERATIONS, "nonzero", "argwhere")
def _nonzero(f: Frame, call: CallArguments) -> Value:
    """`mask.nonzero(as_tuple=True)`, and `mask.nonzero()`, which has a row of indices for each true element."""
    chosen, as_tuple = call.bind("input", "as_tuple", as_tuple=Static(False))
    result = true_places(f, ast.Pass(), chosen.value)
    if constant(as_tuple, "as_tuple"):
        return TupleV(tuple(result))
    columns = [move(f, column, "unsqueeze", 1) for column in result]
    return (
        columns[0]
        if len(columns) == 1
        else call_operation(f, "cat", CallArguments("cat", [TupleV(tuple(columns)), Static(1)], {}))
    )


@either("nonzero", "argwhere")
def _nonzero_of_numbers(f: Frame, call: CallArguments) -> Value:
    return _nonzero(f, CallArguments("nonzero", [as_mask(f, call.args[0]), *call.args[1:]], call.kwargs))


def as_mask(f: Frame, x: Any) -> Value:
    """A tensor as the mask of its elements that are not zero."""
    floats = as_floats(f, x) if dtype_of(x) in (torch.int64, torch.bool) else x
    return mask(floats) if dtype_of(x) == torch.bool else negated(f, mask(op(f, "equal", [floats, Static(0.0)])))


def as_ints(f: Frame, x: Any) -> Value:
    """A mask, or a tensor of floats, as a tensor of ints, which are rounded towards zero. The instance waits for them, unless
    the tensor was made of a constant."""
    if is_tensor(x) and (value := f.builder.filled.get(variable_of(x))) is not None:
        return arranged(f, elements(f, Held("ids", TupleV((Static(int(value)),) * x.type.size))), list(shape(x)))
    if is_tensor(x) and x.type.size and len(x.type.shape) >= 1 and sum(e != 1 for e in x.type.shape) <= 1:
        floats = numbers_in(f, op(f, "reshape", [x], {"shape": (x.type.size,)}))
        return arranged(f, mapped(f, [floats], lambda v: f.host("int", [v], INT)), list(x.type.shape))

    def work(parts: Any) -> Value:
        (part,) = parts
        if shape(part):
            return stack_parts(f, [work([select(f, part, 0, Static(i))]) for i in range(shape(part)[0] or 0)], 0)
        return f.host("int", [item(f, part)], INT)

    result = elementwise(f, [plain(x)], work)
    return result if shape(plain(x)) else Held("index", result)


@handles(MASK_OPERATIONS, "long", "int")
def _long(f: Frame, call: CallArguments) -> Value:
    return as_ints(f, call.args[0])


@either("long", "int")
def _long_of_floats(f: Frame, call: CallArguments) -> Value:
    x = call.args[0]
    if dtype_of(x) == torch.int64:
        return on_host(f, x)
    return as_ints(f, as_floats(f, x) if is_ragged(x) and of_bools(x) else x)


@operation("any", "all", of_tensor=False)
def _any_of(f: Frame, call: CallArguments) -> Value:
    """`any` or `all` of the bool that a comparison of single elements gives, or of a tensor of floats."""
    x = call.args[0]
    if type_or_none(x) == BOOL:
        return x
    return _any(f, CallArguments(call.name, [_to_bool(f, CallArguments("bool", [x], {})), *call.args[1:]], call.kwargs))


@operation("bool")
def _to_bool(f: Frame, call: CallArguments) -> Value:
    (x,) = call.bind("input")
    return negated(f, mask(op(f, "equal", [as_floats(f, x) if computed(x) else x, Static(0.0)])))


@ragged("bool")
def _to_bool_ragged(f: Frame, call: CallArguments) -> Value:
    x = call.args[0]
    of_numbers = isinstance(item_type(x), ScalarT) or computed(x)
    return _to_bool(f, CallArguments("bool", [as_floats(f, x) if of_numbers else x], {}))


def where(f: Frame, chosen: Value, x: Value, y: Value) -> Value:
    x, y = (finite_or_tensor(f, plain(v)) for v in (x, y))
    return op(f, "where", [ones_and_zeros(f, chosen), x, y])


@either("where", of_tensor=False)
def _where(f: Frame, call: CallArguments) -> Value:
    """`torch.where(mask, x, y)`, and `x.where(mask, y)`; `torch.where(mask)` gives places."""
    if len(call.args) == 1 and not call.kwargs and (is_mask(call.args[0]) or is_array(call.args[0])):
        (x,) = call.args
        return _nonzero(f, CallArguments("nonzero", [x if is_mask(x) else as_mask(f, x)], {"as_tuple": Static(True)}))
    if len(call.args) != 3:
        raise Refused("`where` takes a mask and two tensors or numbers here")
    chosen, x, y = call.args
    if not is_mask(chosen) and is_mask(x):
        chosen, x = x, chosen
    types = [type_or_none(v) for v in (x, y) if is_number(v)]
    if len(types) == 2 and BOOL in types or all(is_mask(v) or type_or_none(v) == BOOL for v in (x, y)):
        raise Refused("`where` makes no tensors of bools here", "write `&`, `|` and `~` of masks")
    if all(is_ints(v) or computed(v) or type_or_none(v) == INT for v in (x, y)):
        return _where_of_ints(f, chosen, x, y)
    return where(f, chosen, x, y)


def _where_of_ints(f: Frame, chosen: Value, x: Value, y: Value) -> Value:
    """As `where`, of tensors of ints. The instance waits for the mask."""
    flags = bools_of(f, chosen) if is_mask(chosen) else chosen

    def work(parts: Any) -> Value:
        flag, one, other = parts
        return choose(f, ast.Pass(), flag, lambda: one, lambda: other)

    operands = [flags, *(on_host_in_parts(f, v) for v in (x, y))]
    result = elementwise(f, operands, work, broadcast_in(f, operands))
    return result if is_ragged(result) else Held("index", result)


@either("masked_fill")
def _masked_fill(f: Frame, call: CallArguments) -> Value:
    x, chosen, value = call.bind("input", "mask", "value")
    if is_ints(x) or computed(x):
        if type_or_none(value) not in (INT, BOOL) and not is_ints(value):
            raise Refused("`masked_fill` of a tensor of ints takes an int here", "write `.float()` before it")
        return _where_of_ints(f, chosen, f.coerce(value, INT) if is_number(value) else value, x)
    number = Static(float(constant(value, "the value"))) if is_number(value) and known(value)[0] else value
    return where(f, chosen, number, x)


@either("isnan", "isinf", "isfinite")
def _kind_of_number(f: Frame, call: CallArguments) -> Value:
    (x,) = call.bind("input")
    if call.name == "isnan":
        return negated(f, mask(op(f, "equal", [x, x])))
    finite = op(f, "equal", [op(f, "sub", [x, x]), Static(0.0)])
    if call.name == "isfinite":
        return mask(finite)
    return mask(op(f, "sub", [op(f, "equal", [x, x]), finite]))
