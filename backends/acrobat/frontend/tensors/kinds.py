"""What Python's operations do with tensors: attributes, methods, operators, loops, comparisons."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch
import torch.nn.functional as functional
from torch import nn

from backends.acrobat import library
from backends.acrobat.core.host import float32
from backends.acrobat.core.types import BOOL, FLOAT, INT, ListT, TensorT
from backends.acrobat.frontend.evaluator.arguments import CallArguments, Refused, constant
from backends.acrobat.frontend.evaluator.conditions import comparison, condition
from backends.acrobat.frontend.evaluator.frame import Frame
from backends.acrobat.frontend.evaluator.lists import iterable, mapped
from backends.acrobat.frontend.evaluator.mutation import give
from backends.acrobat.frontend.evaluator.operators import SYMBOLS, as_int
from backends.acrobat.frontend.evaluator.ownership import calls_own_function, seen_through_view
from backends.acrobat.frontend.evaluator.syntax import root_of
from backends.acrobat.frontend.evaluator.tables import (
    ADDITIONS,
    AFTER_CALLS,
    ATTRIBUTES,
    BINARY,
    COMPARED,
    FUNCTIONS,
    GIVE_NEW,
    ITERATION,
    LENGTHS,
    LIBRARIES,
    METHODS,
    NEED_VALUES,
    NUMBERS,
    OWNERS,
    PAIRS,
    TRUTHS,
    UNARY,
    handles,
    lookup,
)
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.tensors import host_tensors
from backends.acrobat.frontend.tensors.ints import MOVES, arithmetic, arranged, elements, extents_of, is_ints, one
from backends.acrobat.frontend.tensors.lifting import (
    as_floats,
    as_rows,
    axis,
    dtype_of,
    extent_of,
    in_place,
    item,
    op,
    select,
    shape,
    shape_of,
)
from backends.acrobat.frontend.tensors.masks import MASK_OPERATIONS, as_mask, is_mask, negated, of_bools, of_masks, with_masks
from backends.acrobat.frontend.tensors.operations import call_operation, either
from backends.acrobat.frontend.tensors.products import matmul
from backends.acrobat.frontend.tensors.shapes import move, permute
from backends.acrobat.frontend.tensors.values import HostTensor, Module, of_torch
from backends.acrobat.frontend.types import Mismatch, describe
from backends.acrobat.frontend.values import (
    Dyn,
    Held,
    Static,
    TupleV,
    Value,
    guess,
    is_array,
    is_number,
    is_ragged,
    is_tensor,
    is_unknown,
    known,
    nothing_known,
    type_of,
    unknown,
)
from backends.acrobat.library import words

# ---- attributes and methods

PAIRS |= {"values": 0, "indices": 1}  # the components of what torch.max and torch.topk return


@handles(ATTRIBUTES, "tensor", "ragged")
def _tensor_attribute(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value:
    rank = len(shape(value))
    match name:
        case "shape":
            return TupleV(tuple(extent_of(f, value, d) for d in range(rank))) if is_ragged(value) else Static(shape_of(value))
        case "ndim":
            return Static(rank)
        case "dtype":
            return Static(dtype_of(value))
        case "device":
            return Static(torch.device("cpu"))
        case "data":
            return value
        case "T":
            return permute(f, value, list(reversed(range(rank))))
        case "mT" if rank > 1:
            return permute(f, value, [*range(rank - 2), rank - 1, rank - 2])
    if not callable(getattr(torch.Tensor, name, None)):
        return f.problem(node, f"`{name}` of a tensor is not in the language", "LANGUAGE.md lists the operations")
    return Method(value, name)


@handles(ATTRIBUTES, Held)
def _held_attribute(f: Frame, node: ast.AST, value: Held, name: str) -> Value:
    if name == "dtype" and dtype_of(value) is not None:
        return Static(dtype_of(value))
    if is_mask(value) and name in ("shape", "ndim", "device", "T", "mT"):
        found = _tensor_attribute(f, node, value.value, name)  # type: ignore[arg-type]
        return Held("mask", found) if name in ("T", "mT") else found
    if value.kind == "packed" and name == "data":
        return move(f, value.value, "squeeze", 1)  # type: ignore[arg-type]
    return Method(value, name)


@handles(ATTRIBUTES, HostTensor)
def _host_attribute(f: Frame, node: ast.AST, value: HostTensor, name: str) -> Value:
    return host_tensors.attribute(value, name) or Method(value, name)


@handles(ATTRIBUTES, "number")
def _number_attribute(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value:
    if name in MOVES or value.type == INT and name in ("dim", "size", "to", "float", "expand", "repeat"):
        return Method(value, name)
    if name == "data" and value.type == INT:
        return value
    if name in ("any", "all", "item") and value.type == BOOL:  # what a comparison of tensors of one element gives
        return Method(value, name)
    return f.problem(node, f"{describe(value.type)} has no attribute `{name}`")


@handles(METHODS, "tensor", "ragged")
def _method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value:
    name = method.name
    if of_bools(method.owner) and name in MASK_OPERATIONS:
        return with_masks(f, name, CallArguments(name, [as_mask(f, method.owner), *args], kwargs))
    if any(is_mask(a) for a in (*args, *kwargs.values())) and name not in library.FUNCTIONS:
        return with_masks(f, name, CallArguments(name, [method.owner, *args], kwargs))
    if name in library.FUNCTIONS and not (name == "type_as" and len(args) == 1):
        return f.program.call(f, node, library.FUNCTIONS[name], [method.owner, *args], kwargs)
    if name == "type_as":  # not by the library: a constant stays one
        return call_operation(f, "to", CallArguments("to", [method.owner, *args], kwargs))
    if name in ("fill_", "zero_") and is_tensor(method.owner):
        return call_operation(f, name, CallArguments(name, [method.owner, *args], kwargs))
    if name in ("fill_", "zero_") and is_ints(method.owner) and isinstance(node, ast.Call) and _made_for(f, node):
        if any(map(is_unknown, args)):  # the type of the result is known all the same, which ends a loop's search for types
            f.program.incomplete = True
            return guess(method.owner.type)
        return call_operation(f, "full_like", CallArguments("full_like", [method.owner, *(args or [Static(0)])], kwargs))
    if name.endswith("_") and name[:-1] in library.FUNCTIONS and isinstance(node, ast.Call):
        return _changed_by_library(f, node, method.owner, name, args, kwargs)
    return call_operation(f, name, CallArguments(name, [method.owner, *args], kwargs))


def _changed_by_library(f: Frame, node: ast.Call, owner: Dyn, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`x.index_add_(...)` and the like, of library operations. Refuses tensors not made by this function or for the call."""
    assert isinstance(node.func, ast.Attribute)
    changed = f.program.call(f, node, library.FUNCTIONS[name[:-1]], [owner, *args], kwargs)
    match node.func.value:
        case ast.Name(who) if who in f.owned:
            give(f, who, changed)
            return changed
    return changed if _made_for(f, node) else in_place(f, owner, lambda x: changed)


def _made_for(f: Frame, node: ast.Call) -> bool:
    """Whether a method's tensor is made for the call: `torch.ones(1, 1).type_as(x).fill_(2)`."""
    assert isinstance(node.func, ast.Attribute)
    made = node.func.value
    while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr in CONVERSIONS:
        made = made.func.value
    match made:
        case ast.Call(ast.Attribute(attr=name) | ast.Name(name)) as call:
            return name in OWNERS and not calls_own_function(f, call)
    return False


CONVERSIONS = ("type", "type_as", "to", "long", "int", "float")
"""Methods that give a tensor of another dtype."""


@handles(METHODS, Held)
def _held_method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner = method.owner
    if is_mask(owner) and method.name == "tolist":
        return f.problem(node, "`tolist` of a mask is not in the language", "write a loop over its rows")
    if is_mask(owner):
        return with_masks(f, method.name, CallArguments(method.name, [owner, *args], kwargs))
    if owner.kind == "index" and method.name in ("item", "long", "int") and not args:
        inner: Value = owner.value if method.name == "item" else owner
        return inner
    if owner.kind in ("index", "ids", "loose"):
        return _of_ints(f, method.name, CallArguments(method.name, [owner, *args], kwargs))
    if owner.kind == "row" and method.name in ("view", "reshape"):
        return call_operation(f, "reshape", CallArguments("reshape", [owner.value, *args], kwargs))
    raise Mismatch(owner.refusal)


def _of_ints(f: Frame, name: str, call: CallArguments) -> Value:
    """A method of a tensor of ints that is written out, or of an int that is an element of one."""
    if name in MOVES or isinstance(call.args[0], Held) and call.args[0].kind == "loose":
        return call_operation(f, name, call)
    have = extents_of(f, call.args[0])
    if name in ("dim", "size") and not call.args[1:]:
        return Static(len(have)) if name == "dim" else Static(tuple(have))
    if name == "to" and all(dtype_of(v) is None for v in call.args[1:]):
        return call.args[0]
    whole = arranged(f, elements(f, call.args[0]), have or [1])
    if name == "float" and not have:
        return select(f, as_floats(f, whole), 0, Static(0))  # type: ignore[arg-type]
    if not have and name not in ("expand", "repeat"):
        raise Refused(f"`{name}` of a tensor of one int is not in the language")
    return call_operation(f, name, CallArguments(name, [whole, *call.args[1:]], call.kwargs))


@handles(METHODS, HostTensor)
def _host_method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return host_tensors.method(method.owner, method.name, [*args, *kwargs.values()])


@handles(METHODS, "number")
def _number_method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    """A conversion of an element of a tensor of ints: the program already has the value, so nothing is done."""
    if method.name in ("item", "long", "int", "any", "all") and not args:
        return method.owner
    return _of_ints(f, method.name, CallArguments(method.name, [method.owner, *args], kwargs))


# ---- functions of torch

ADDITIONS += [torch.add]


def torch_name(function: Any) -> str | None:
    """The name under which `call_operation` knows a function object of torch, or None."""
    for module in (torch, functional, torch.Tensor, torch.nn.utils.rnn, torch.nn.Transformer):
        name = str(getattr(function, "__name__", ""))
        if name and getattr(module, name, None) is function:
            return name
    return None


def _of_torch(function: Any) -> Callable[..., Value] | None:
    """The handler of a function object of torch; None for a function that torch does not define."""
    name = torch_name(function)
    if name is None:
        return _no_operation if isinstance(function, FunctionType) and of_torch(function) else None

    def work(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
        if name in library.FUNCTIONS:
            return f.program.call(f, node, library.FUNCTIONS[name], args, kwargs)
        if any(is_mask(a) for a in (*args, *kwargs.values())):
            return with_masks(f, name, CallArguments(name, args, kwargs))
        if args and isinstance(args[0], Held):
            raise Mismatch(args[0].refusal)
        return call_operation(f, name, CallArguments(name, args, kwargs))

    return work


def _no_operation(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return f.problem(
        node, f"`{ast.unparse(node.func)}` is not an operation of the language", "LANGUAGE.md lists the operations"
    )


LIBRARIES.append(_of_torch)


def _needs_values(callee: Value) -> bool:
    match callee:
        case Static(value):
            of_torch = str(getattr(value, "__module__", None) or "").startswith("torch")
            return torch_name(value) is not None or of_torch and lookup(FUNCTIONS, value) is not None
        case Method(owner, function=None):
            return is_array(owner)
    return False


NEED_VALUES.append(_needs_values)


@handles(FUNCTIONS, torch.finfo)
def _limits(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (dtype,) = CallArguments("finfo", args, kwargs).bind("type")
    return Static(torch.finfo(constant(dtype, "the dtype")))


COMPARING = {"eq": ast.Eq, "ne": ast.NotEq, "not_equal": ast.NotEq, "lt": ast.Lt, "less": ast.Lt, "le": ast.LtE}
COMPARING |= {"less_equal": ast.LtE, "gt": ast.Gt, "greater": ast.Gt, "ge": ast.GtE, "greater_equal": ast.GtE}


@either(*COMPARING)
def _compared(f: Frame, call: CallArguments) -> Value:
    """`torch.eq` and the like: the comparison of Python's operator."""
    a, b = call.bind("input", "other")
    found: Value = comparison(f, ast.Pass(), COMPARING[call.name](), a, b)
    return found


@handles(FUNCTIONS, words.unrolled)
def _unrolled(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    whole = args[0]
    items: Value = f.static_list(Static(tuple(whole.value)) if isinstance(whole, Static) else iterable(f, whole))
    return items


@handles(FUNCTIONS, words.in_order)
def _in_order(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    keys, descending = args
    numbers: Value = f.host("list.order", [keys, descending], ListT(INT), "order")
    return numbers


@handles(FUNCTIONS, words.is_fixed)
def _is_fixed(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return Static(known(args[0])[0])


@handles(FUNCTIONS, words.packed)
def _packed(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return unknown() if is_unknown(args[0]) else Held("packed", args[0])


@handles(FUNCTIONS, words.is_packed)
def _is_packed(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return Static(isinstance(args[0], Held) and args[0].kind == "packed")


@handles(FUNCTIONS, words.steps_of)
def _steps_of(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    (sequence,) = args
    if nothing_known(sequence):
        return unknown()
    if not isinstance(sequence, Held) or sequence.kind != "packed":
        raise Refused("`pad_packed_sequence` takes what `pack_padded_sequence` or a recurrent module of it gives")
    return sequence.value


@handles(FUNCTIONS, words.highest)
def _highest(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    numbers: Value = f.host("list.top", args, ListT(INT), "highest")
    return numbers


@handles(FUNCTIONS, words.refuse)
def _refuse(f: Frame, node: ast.AST, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    message, *advice = (constant(a, "the message") for a in args)
    raise Refused(f"{message} is not in the language", *advice)


# ---- operators, loops, comparisons


@handles(BINARY, "tensor", "ragged")
def _binary(f: Frame, node: ast.AST, operator: ast.operator, name: str, a: Value, b: Value) -> Value:
    whole = arithmetic(f, name, a, b)
    if whole is not None:
        return whole
    if of_bools(a) or of_bools(b):
        return of_masks(f, node, operator, name, *(as_mask(f, v) if of_bools(v) else v for v in (a, b)))
    if isinstance(a, Held) or isinstance(b, Held):
        return of_masks(f, node, operator, name, a, b)
    if name == "pow":
        return call_operation(f, "pow", CallArguments("pow", [a, b], {}))
    if name in ("floordiv", "mod"):
        return f.program.call(f, node, library.FUNCTIONS["floor_divide" if name == "floordiv" else "remainder"], [a, b], {})
    if name == "matmul" and (is_ragged(a) or is_ragged(b)):
        return matmul(f, a, b)
    if name in ("add", "sub", "mul", "div", "matmul"):
        return op(f, name, [a, b])
    return f.problem(
        node, f"`{SYMBOLS[name]}` of tensors is not an operation of the language", "LANGUAGE.md lists the operations"
    )


@handles(UNARY, "tensor", "ragged")
def _unary(f: Frame, operator: ast.unaryop, a: Value) -> Value | None:
    match operator:
        case ast.Invert() if of_bools(a):
            return negated(f, as_mask(f, a))
        case ast.USub():
            return arithmetic(f, "sub", Static(0), a) or op(f, "neg", [a])
        case ast.UAdd():
            return a
    return None


@handles(ITERATION, "tensor")
def rows(f: Frame, x: Dyn) -> TupleV:
    """The parts of a tensor along the first dimension, as a loop or unpacking takes them. Raises Refused."""
    if not shape_of(x):
        raise Refused("a tensor without dimensions cannot be iterated over")
    return TupleV(tuple(op(f, "index", [x], {"dim": 0, "i": i}) for i in range(shape_of(x)[0])))


@handles(ITERATION, "ragged")
def _rows(f: Frame, x: Dyn) -> Value:
    rows = unknown() if is_unknown(x) else as_rows(f, x, 0)
    units = x.type.units if axis(x) == 0 else 0  # type: ignore[union-attr]
    if not units or is_unknown(rows):
        return rows
    return mapped(f, [rows], lambda i: arranged(f, elements(f, i), [1] * units))


@handles(LENGTHS, "ragged")
def _varying(f: Frame, x: Dyn) -> Value:
    return extent_of(f, x, 0)


@handles(LENGTHS, "tensor")
def _fixed(f: Frame, x: Dyn) -> Value | None:
    return Static(shape_of(x)[0]) if shape_of(x) else None


@handles(LENGTHS, Held)
def _held_length(f: Frame, x: Held) -> Value | None:
    items = f.components(x.value) if x.kind == "ids" else None
    return None if items is None else Static(len(items))


@handles(LENGTHS, HostTensor)
def _host_length(f: Frame, x: HostTensor) -> Value | None:
    return Static(len(x.tensor)) if x.tensor.ndim else None


@handles(TRUTHS, "tensor")
def _truth(f: Frame, x: Dyn, node: ast.AST) -> Value:
    return condition(f, item(f, x, "value"), node)


@handles(TRUTHS, HostTensor)
def _host_truth(f: Frame, x: HostTensor, node: ast.AST) -> Value:
    return Static(bool(x.read().value))


@handles(NUMBERS, "tensor")
def _number(f: Frame, x: Dyn) -> Value:
    return item(f, x, "value")


@handles(NUMBERS, Held, "ragged")
def _held_number(f: Frame, x: Held | Dyn) -> Value:
    if is_ints(x) and (isinstance(x, Held) or all(e == 1 for e in shape(x))):
        return one(f, x)
    return x


@handles(COMPARED, Held, "ragged")
def _comparable_ints(f: Frame, a: Value, b: Value) -> tuple[Value, Value]:
    """Operands of a comparison, of which one is a tensor of one int, as numbers."""
    return tuple(one(f, v) if is_ints(v) and not is_number(v) else v for v in (a, b))  # type: ignore[return-value]


@handles(NUMBERS, HostTensor)
def _host_number(f: Frame, x: HostTensor) -> Value:
    return x.read()


@handles(COMPARED, "tensor")
def _comparable_numbers(f: Frame, a: Value, b: Value) -> tuple[Value, Value]:
    """Operands of a comparison, of which one is a tensor, as the numbers that torch compares: of float32, unless both are
    ints. A number of Python, or an int, that is compared with floats is rounded to float32 first."""
    types = [type_of(v) for v in (a, b)]
    floats = any(t == FLOAT or (isinstance(t, TensorT) and t.dtype == "float32") for t in types)

    def number(v: Value) -> Value:
        t = type_of(v)
        if is_tensor(v):
            v = item(f, v, "value")  # type: ignore[arg-type]
            if t.dtype == "float32":
                return v
        if not floats or is_unknown(v) or not is_number(v):
            return v
        is_known, x = known(v)
        return Static(float32(x)) if is_known else f.host("float32", [as_int(f, v)], FLOAT, "rounded")

    return number(a), number(b)


# ---- what is known of a tensor's memory

OWNERS |= {"zeros", "ones", "full", "zeros_like", "ones_like", "clone", "cat", "stack"}
OWNERS |= {"new", "new_empty", "new_zeros", "new_ones", "new_full", "new_tensor"}
VIEWS = frozenset(
    [
        "view",
        "reshape",
        "unsqueeze",
        "squeeze",
        "transpose",
        "t",
        "permute",
        "flatten",
        "as_tensor",
        "contiguous",
        "cpu",
        "detach",
        "diagonal",
        "dropout",
        "einsum",
        "moveaxis",
        "narrow",
        "ravel",
        "select",
        "chunk",
        "split",
        "unbind",
        "expand",
        "expand_as",
        "float",
        "to",
        "swapdims",
        "type",
        "type_as",
        "view_as",
        "reshape_as",
        "movedim",
        "swapaxes",
        "unflatten",
        "unfold",
        "tensor_split",
        "broadcast_to",
        "broadcast_tensors",
        "meshgrid",
        "positive",
        "asarray",
        "atleast_1d",
        "atleast_2d",
        "long",
        "int",
        "bool",
        "double",
        "half",
        "bfloat16",
        "dropout1d",
        "dropout2d",
        "alpha_dropout",
        "feature_alpha_dropout",
    ]
)
"""Operations whose result may share memory with the operand."""


def _gives_new(callee: Value) -> bool:
    """Whether the result of a call shares no memory with its operands."""
    match callee:
        case Method(owner, name, None) if is_tensor(owner) or is_ragged(owner):
            return name not in VIEWS and not name.endswith("_")
        case Static(value):
            known_as = torch_name(value)
            return known_as is not None and known_as not in VIEWS and not known_as.endswith("_")
        case Module(module=nn.Linear() | nn.LayerNorm() | nn.Softmax() | nn.Embedding() | nn.LSTMCell() | nn.GRUCell()):
            return True
    return False


def _forget_aliases(f: Frame, node: ast.Call, callee: Value, result: Value) -> None:
    """After a call whose result may share memory with an argument: the argument's name no longer owns its tensor alone."""
    if node is f.unused_expression and isinstance(callee, Method) and callee.name.endswith("_"):
        return  # `x.index_add_(...)` as a statement: nobody has its result
    made = result.atom if isinstance(result, Dyn) else None
    named = any(f.builder.now(v.atom) == made for v in f.env.values() if isinstance(v, Dyn))
    if named and _gives_new(callee) and not any(k.arg == "inplace" for k in node.keywords):
        f.builder.fresh.discard(getattr(made, "name", ""))  # such as `x.repeat(1)`, which is `x` here and a copy in PyTorch
    if is_number(result) or not named and (_gives_new(callee) or getattr(made, "name", "") in f.builder.fresh):
        return
    owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    own = dtype_of(result)
    for a in (*owner, *node.args, *(k.value for k in node.keywords)):
        whole = f.env.get(root_of(a) or "")
        if own is None or whole is None or dtype_of(whole) == own:  # a view has the dtype of what it shows
            seen_through_view(f, a)


AFTER_CALLS.append(_forget_aliases)
GIVE_NEW.append(_gives_new)
