"""Tensors made of Python's numbers, as `torch.tensor` makes them, and Python's numbers read from tensors."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from backends.acrobat.core.types import BOOL, FLOAT, INT, DataT, ListT, ScalarT, TensorT, TupleT
from backends.acrobat.frontend.evaluator.choices.choice import optional
from backends.acrobat.frontend.evaluator.choices.mixed import NUMBERS, SEQUENCES, is_tree
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, constant, is_constant
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import at, item_type, of_length
from backends.acrobat.frontend.evaluator.lists.lists import list_of
from backends.acrobat.frontend.evaluator.lists.mapping import mapped
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, handles
from backends.acrobat.frontend.kinds import (
    as_lists,
    is_list,
    is_number,
    is_object,
    is_ragged,
    is_tensor,
    is_unknown,
    kind,
    known,
    nothing_known,
    retyped,
    type_of,
    type_or_none,
    variable_of,
)
from backends.acrobat.frontend.tensors.dtypes import one_or_zero
from backends.acrobat.frontend.tensors.fixing import only_element
from backends.acrobat.frontend.tensors.ints import elements, is_ints, with_dimension
from backends.acrobat.frontend.tensors.lifting import (
    as_rows,
    item,
    numbers_in,
    of_rows,
    op,
    operand,
    select,
    shape,
    shape_of,
    stack_parts,
)
from backends.acrobat.frontend.tensors.operations import call_operation, operation, ragged
from backends.acrobat.frontend.types import NEVER
from backends.acrobat.frontend.values import Dyn, Held, Static, TupleV, Value, guess, unknown
from backends.acrobat.library import arranging

DATA = (*NUMBERS, *SEQUENCES, "tensor")
"""The types of Python's, as words, of whose values `torch.tensor` makes tensors."""


@operation("new_tensor", of_tensor=False)
def _new_tensor(f: Frame, call: CallArguments) -> Value:
    """`x.new_tensor(data)`: of floats, unless `x` has ints."""
    tensor = _made_tensor(f, ast.Pass(), call.args[1:], call.kwargs, "")
    return tensor if is_ints(call.args[0]) else _as_floats(f, tensor)


@handles(FUNCTIONS, torch.tensor, torch.as_tensor, torch.LongTensor)
def _of_numbers(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """`torch.tensor`, which makes ints floats if its `dtype` says so."""
    tensor = _made_tensor(f, node, args, kwargs, hint)
    return _as_floats(f, tensor) if kwargs.get("dtype") == Static(torch.float32) else tensor


def _indices_of(
    f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str, of: Callable[..., torch.Tensor]
) -> Value:
    """`torch.tril_indices(rows, columns, offset)` and `torch.triu_indices`: constants of the program, unless it depends on the
    instance how many rows or columns there are."""
    named = {k: v for k, v in kwargs.items() if k not in ("device", "dtype", "layout")}
    numbers = CallArguments(of.__name__, args, named).bind("row", "col", "offset", offset=Static(0))
    if not all(map(is_constant, numbers)):
        return f.call_with(arranging.places_of_triangle, [*numbers, Static(of is torch.triu_indices)], node)
    rows = of(*(constant(v, f"an argument of `{of.__name__}`") for v in numbers)).tolist()
    if not rows[0]:
        raise Refused(f"`{of.__name__}` of a triangle without elements is not in the language")
    return _made_tensor(f, node, [f.expression(ast.parse(repr(rows), mode="eval").body)], {}, hint)


handles(FUNCTIONS, torch.tril_indices)(partial(_indices_of, of=torch.tril_indices))
handles(FUNCTIONS, torch.triu_indices)(partial(_indices_of, of=torch.triu_indices))


@handles(FUNCTIONS, torch.Tensor, torch.FloatTensor)
def _float_tensor(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    if args and is_number(args[0]):
        what = "`torch.Tensor` or `torch.FloatTensor` of a number makes a tensor that holds anything"
        return f.problem(node, what, "write `torch.zeros(n)`")
    return _as_floats(f, _made_tensor(f, node, args, kwargs, hint))


def _as_floats(f: Frame, tensor: Value) -> Value:
    """A tensor that `_made_tensor` has made, with floats in place of ints."""
    match tensor:
        case Held("index", number):
            return Dyn(operand(f, f.coerce(number, FLOAT)))
        case Held("ids", TupleV(items)):
            return _stacked(f, [f.coerce(v, FLOAT) for v in items])
    if is_ints(tensor) and not nothing_known(tensor):
        return call_operation(f, "float", CallArguments("float", [tensor], {}))
    return tensor


def _made_tensor(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    """What `torch.tensor` makes without regard to a dtype: an int, or a list of ints written out, serves as an index only; a
    float gives a tensor without dimensions, a list written out a dense tensor, and any other list of numbers a ragged one."""
    of_ints = kwargs.get("dtype") in (Static(torch.int64), Static(torch.int32))
    kwargs = {k: v for k, v in kwargs.items() if k not in ("device", "dtype")}
    if args and nothing_known(args[0]):
        return unknown()
    if len(args) != 1 or kwargs:
        return f.problem(node, "`torch.tensor` takes a number or a list of numbers here")
    x = _as_data(f, node, args[0])
    if is_number(x) and type_of(x) in (INT, FLOAT):
        if type_of(x) == INT:
            return Held("index", x)
        is_known, value = known(x)
        if is_known:
            return op(f, "full", [], {"shape": (), "value": value}, "constant")
        return Dyn(operand(f, x))
    if is_ragged(x) or is_tensor(x) or isinstance(x, Held):
        return x
    if is_list(x) and type_of(x).item is NEVER:  # what it gets, if anything, depends on this tensor
        x = f.coerce(x, ListT(INT if of_ints else FLOAT))
    items = _written_elements(f, x)
    if items is None and f.vectors.get(variable_of(x)):
        items = f.components(x, f.vectors[variable_of(x)])
    items = items and [_as_data(f, node, v) for v in items]
    if items and not any(map(_is_element, items)):
        rows = [_made_tensor(f, node, [v], {}, hint) for v in items]
        ints = is_list(x) and isinstance(type_of(x).item, ListT) and type_of(x).item.item == INT
        return _of_rows(f, node, x, hint) if ints and len(rows) > 1 else _joined(f, node, rows)
    if items is not None and items and all(map(_is_element, items)):
        types = {type_of(v) for v in items}
        if types == {INT}:
            return Held("ids", TupleV(tuple(items)))
        if types == {BOOL}:
            return Held("mask", _stacked(f, items))
        if types == {INT, BOOL}:
            raise Refused("`torch.tensor` of ints and bools together is not in the language", "write `int(...)` of the bools")
        return _stacked(f, items)
    if is_unknown(x):  # a list of which a later round knows what is in it
        return unknown()
    if is_list(x) and isinstance(type_of(x).item, ScalarT):
        t = type_of(x).item
        if t == FLOAT:
            return of_rows(mapped(f, [x], lambda v: Dyn(operand(f, v))), 0)
        return of_rows(x, 0)
    if is_list(x) and type_of(x).item == TensorT(()):
        return of_rows(x, 0)
    if is_list(x) and isinstance(type_of(x).item, (ListT, TupleT)) and not is_ragged(guess(type_of(x).item)):
        return _of_rows(f, node, x, hint)
    return f.problem(node, "`torch.tensor` takes a number or a list of numbers here", "make other tensors with torch.full")


def _is_element(x: Value) -> bool:
    """Whether a value is a number, or a tensor of floats without dimensions, which serves as one."""
    return is_number(x) or is_tensor(x) and type_of(x) == TensorT(())


def _joined(f: Frame, node: ast.AST, rows: list[Any]) -> Value:
    """The tensor with these rows, which `_made_tensor` has made. Raises Refused."""
    if any(map(nothing_known, rows)):
        return unknown()
    if len(rows) == 1 and is_ints(rows[0]):
        return with_dimension(f, rows[0], 0)
    masks = [isinstance(v, Held) and v.kind == "mask" for v in rows]
    if all(masks):
        return Held("mask", stack_parts(f, [v.value for v in rows], 0))
    if any(masks):
        raise Refused("`torch.tensor` of bools beside numbers is not in the language", "write `float(...)` of the bools")
    if all(map(is_ints, rows)):
        return call_operation(f, "stack", CallArguments("stack", [TupleV(tuple(rows))], {}))
    rows = [_as_floats(f, v) if is_ints(v) else v for v in rows]
    if not all(is_tensor(v) or is_ragged(v) for v in rows):
        return f.problem(node, "`torch.tensor` takes a number or a list of numbers here", "make other tensors with torch.full")
    return stack_parts(f, rows, 0)


def _written_elements(f: Frame, x: Value) -> list[Value] | None:
    """The elements of a list that is written out, or of a tuple of known length; None for other values."""
    return f.components(x) if kind(x) == "tuple" else f.display(x)


def _as_data(f: Frame, node: ast.AST, x: Value) -> Value:
    """What may be None, or of one of several of Python's types, as the number, list or tuple of which a tensor is made; so are
    the elements of a list. Another value, such as a string, is an error of the instance, as in Python. Other values unchanged.
    Raises Refused where a tensor could be made of values of several of the types."""
    if isinstance(x, Static) and isinstance(x.value, (list, tuple, range)):
        x = TupleV(tuple(map(f.program.wrap, x.value)))
    x = as_lists(x)
    if is_list(x) and f.display(x) is None and isinstance(type_of(x).item, DataT):
        return mapped(f, [x], lambda v: _as_data(f, node, v))
    inner = optional(f, x) or type_or_none(x) if isinstance(x, Dyn) else None
    words = [word for word in f.mixed(inner) if word in DATA]
    if inner is not None and is_tree(f, inner):  # whose nodes have parts of several lengths: of these no tensor is made
        words = [word for word in words if word in NUMBERS] or words
    if len(words) > 1:
        shown = " or ".join(words)
        raise Refused(f"the type of this tensor is not known: it is made of {shown}", "ask which it is, with `isinstance`")
    x = opened(f, node, x, types=words)
    fields = f.components(x) if is_object(x) else None
    return x if fields is None else TupleV(tuple(fields))  # of a named tuple


def _of_rows(f: Frame, node: ast.AST, x: Value, hint: str) -> Value:
    """The tensor of a list of lists or tuples of numbers, or of such lists. As in PyTorch, rows of different lengths are an
    error of the instance."""
    masks: list[bool] = []

    def row_of(row: Value) -> Value:
        row = _alike(f, node, row, at(f, x, Static(0))) if _has_list(type_of(row)) else row
        tensor = _made_tensor(f, node, [row], {}, hint)
        masks.append(isinstance(tensor, Held) and tensor.kind == "mask")
        match tensor:
            case Held("mask", inner):
                return inner
            case Held("ids", TupleV(items)):
                return retyped(list_of(f, node, list(items)), ListT(INT, rows=0, extent=len(items)))  # type: ignore[arg-type]
        return tensor

    result = of_rows(mapped(f, [x], row_of), 0)
    return Held("mask", result) if any(masks) else result


def _has_list(type: Any) -> bool:
    """Whether values of a type are lists, or tuples with a list in them."""
    return isinstance(type, ListT) or isinstance(type, TupleT) and any(map(_has_list, type.items))


def _alike(f: Frame, node: ast.AST, part: Value, first: Value) -> Value:
    """A part of what a tensor is made of. Where a list in it is not as long as that in the `first` part, that is an error of
    the instance."""
    part, first = _as_data(f, node, part), _as_data(f, node, first)
    if isinstance(part, Dyn) and is_list(part) and isinstance(first, Dyn):
        part = of_length(f, part, first)
        if not isinstance(type_of(part).item, ScalarT):
            part = mapped(f, [part], lambda v: _alike(f, node, v, at(f, first, Static(0))))
    elif _has_list(type_of(part)):
        pairs = zip(f.components(part) or [], f.components(first) or [], strict=True)
        part = TupleV(tuple(_alike(f, node, v, of_first) for v, of_first in pairs))
    return part


def _stacked(f: Frame, items: list[Value]) -> Value:
    """The tensor of floats of these numbers, of which bools are ones and zeros."""
    numbers = [one_or_zero(f, v) if type_or_none(v) == BOOL else v for v in items]
    return op(f, "stack", [f.coerce(v, TensorT(())) for v in numbers], {"dim": 0})


@operation("item")
def _item(f: Frame, call: CallArguments) -> Dyn:
    (x,) = call.bind("input")
    return item(f, x, "value")


@ragged("item")
def _item_ragged(f: Frame, call: CallArguments) -> Value:
    (x,) = call.bind("input")
    return item(f, only_element(f, x), "value")  # type: ignore[arg-type]


@operation("tolist")
def _tolist(f: Frame, call: CallArguments) -> Value:
    (x,) = call.bind("input")
    if len(shape_of(x)) == 1:
        return numbers_in(f, x)
    if not shape_of(x):
        return item(f, x, "value")
    rows = [select(f, x, 0, Static(i)) for i in range(shape_of(x)[0])]
    return list_of(f, ast.Pass(), [_tolist(f, CallArguments(call.name, [row], {})) for row in rows])


@ragged("tolist")
def _tolist_ragged(f: Frame, c: CallArguments) -> Value | None:
    x: Any = c.args[0]
    if isinstance(item_type(x), ScalarT):
        return retyped(x, ListT(item_type(x)))
    if len(shape(x)) == 2 and is_ragged(guess(item_type(x))) and item_type(x).item == INT:
        return mapped(f, [as_rows(f, x, 0)], lambda row: elements(f, row))  # the list of the program may be that of columns
    if len(shape(x)) == 1:
        return mapped(f, [x], lambda row: item(f, row))
    return mapped(f, [as_rows(f, x, 0)], lambda row: call_operation(f, c.name, CallArguments(c.name, [row], {})))
