"""Attributes and methods of tensors, and of values that stand for tensors."""

from __future__ import annotations

import ast
import difflib

import torch

from backends.acrobat import library
from backends.acrobat.core.types import BOOL, INT
from backends.acrobat.frontend.described import describe
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused, constant, each_as
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.enumerations import of_member
from backends.acrobat.frontend.evaluator.ownership.fresh import calls_own_function
from backends.acrobat.frontend.evaluator.scalars import numbers
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES, METHODS, OWNERS, PAIRS, handles
from backends.acrobat.frontend.kinds import is_array, is_ragged, is_tensor, is_unknown, type_or_none, variable_of
from backends.acrobat.frontend.refusals import refusal
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.tensors import host_tensors
from backends.acrobat.frontend.tensors.buffers import as_tensor, beside, whole_tensor
from backends.acrobat.frontend.tensors.bytes_of_masks import of_bytes
from backends.acrobat.frontend.tensors.conversions import wanted_dtype
from backends.acrobat.frontend.tensors.dtypes import as_floats, dtype_of, of_bools
from backends.acrobat.frontend.tensors.in_place import KEEPS_TYPE, given_to, in_place
from backends.acrobat.frontend.tensors.ints import MOVES, arranged, elements, extents_of, is_ints, one
from backends.acrobat.frontend.tensors.lifting import elementwise, extent_of, op, select, shape, shape_of
from backends.acrobat.frontend.tensors.mask_operations import MASK_OPERATIONS, as_mask, with_masks
from backends.acrobat.frontend.tensors.masks import is_mask, is_one_hot, mask, plain, read_of, whole_of
from backends.acrobat.frontend.tensors.one_hot import ints_of, of_one_hot
from backends.acrobat.frontend.tensors.operations import IN_PLACE, OVERWRITING, call_operation
from backends.acrobat.frontend.tensors.shapes import move, permute
from backends.acrobat.frontend.tensors.values import HostTensor, ReadBool
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import Dyn, Held, Static, TupleV, Value, guess

PAIRS |= {"values": 0, "indices": 1}  # the components of what torch.max and torch.topk return
PAIRS |= {"min": 0, "max": 1}  # and of what torch.aminmax returns
PAIRS |= {"sign": 0, "logabsdet": 1}  # and of what torch.linalg.slogdet returns


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
        near = difflib.get_close_matches(name, dir(torch.Tensor), 1)
        advice = f"a tensor has no `{name}`: is `{near[0]}` meant?" if near and not hasattr(torch.Tensor, name) else ""
        what = f"`{name}` of a tensor is not in the language"
        return f.problem(node, *refusal(name, what, advice or "LANGUAGE.md lists the operations"))
    return Method(value, name)


@handles(ATTRIBUTES, Held)
def _held_attribute(f: Frame, node: ast.AST, value: Held, name: str) -> Value:
    if name == "dtype" and dtype_of(value) is not None:
        return Static(dtype_of(value))
    if value.kind in ("index", "ids") and name in ("shape", "ndim"):
        have = tuple(extents_of(f, value))
        return Static(have if name == "shape" else len(have))
    if (is_mask(value) or is_one_hot(value)) and name in ("shape", "ndim", "device", "T", "mT"):
        result = _tensor_attribute(f, node, value.value, name)  # type: ignore[arg-type]
        return Held(value.kind, result) if name in ("T", "mT") else result
    if value.kind == "packed" and name == "data":
        if not is_array(value.value):
            raise Refused(
                "`data` of several packed sequences is not in the language", "take the result of `pad_packed_sequence`"
            )
        return move(f, value.value, "squeeze", 1)
    return Method(value, name)


@handles(ATTRIBUTES, HostTensor)
def _host_attribute(f: Frame, node: ast.AST, value: HostTensor, name: str) -> Value:
    if name in ("T", "mT", "data"):
        return f.expression(ast.Attribute(CompiledNode(whole_tensor(f, value)), name, ast.Load()))
    return host_tensors.attribute(value, name) or Method(value, name)


@handles(ATTRIBUTES, "number")
def _number_attribute(f: Frame, node: ast.AST, value: Dyn, name: str) -> Value:
    if isinstance(value, ReadBool) and name not in ("any", "all", "item"):
        return _held_attribute(f, node, whole_of(f, value), name)
    if name in MOVES or value.type == INT and name in ("dim", "size", "to", "float", "expand", "repeat"):
        return Method(value, name)
    if name == "data" and value.type == INT:
        return value
    if name == "dtype" and value.type == BOOL:
        return Static(torch.bool)
    if name in ("any", "all", "item", "tolist") and value.type == BOOL:  # what a comparison of tensors of one element gives
        return Method(value, name)
    result = of_member(f, node, value, name, of_ints=True) if value.type == INT else None
    result = result or numbers.attribute(f, value, name)
    of_tensors = value.type == BOOL and callable(getattr(torch.Tensor, name, None))
    advice = f"of a comparison of tensors write it where they are compared: `(x > 0).{name}(...)`" if of_tensors else ""
    return result or f.problem(node, f"{describe(value.type)} has no attribute `{name}`", advice)


@handles(METHODS, "tensor", "ragged")
def _method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value:
    name = library.name_for(method.name, kwargs)
    args, kwargs = each_as(f, ints_of, *each_as(f, as_tensor, args, kwargs))
    if of_bools(method.owner) and name in MASK_OPERATIONS:
        return with_masks(f, name, CallArguments(name, [as_mask(f, method.owner), *args], kwargs))
    if any(is_mask(a) for a in (*args, *kwargs.values())) and name not in library.FUNCTIONS:
        return with_masks(f, name, CallArguments(name, [method.owner, *args], kwargs))
    if name in library.FUNCTIONS:
        return f.program.call(f, node, library.FUNCTIONS[name], [method.owner, *args], kwargs)
    changed = name.removesuffix("_") if name.endswith("_") else ""  # the operation that changes the tensor in place
    if changed in IN_PLACE and is_tensor(method.owner):
        return call_operation(f, name, CallArguments(name, [method.owner, *args], kwargs), node)
    if changed in OVERWRITING and isinstance(node, ast.Call) and (is_ints(method.owner) or of_bools(method.owner)):
        if (filled := _overwritten(f, node, method.owner, CallArguments(name, args, kwargs))) is not None:
            return filled
    if changed in library.FUNCTIONS and isinstance(node, ast.Call):
        return _changed_by_library(f, node, method.owner, changed, args, kwargs)
    who = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    is_owned, bound = isinstance(who, ast.Name) and who.id in f.owned, len(f.builder.bindings)
    if changed in IN_PLACE and is_owned and variable_of(method.owner) not in f.builder.fresh:  # of varying extent
        after = call_operation(f, changed, CallArguments(changed, [method.owner, *args], kwargs))
        if not is_unknown(after) and type_or_none(after) != method.owner.type:
            raise Refused(KEEPS_TYPE, "assign the result to a name instead")
        return given_to(f, who.id, bound, after)  # type: ignore[union-attr]
    return call_operation(f, name, CallArguments(name, [method.owner, *args], kwargs), node)


def _overwritten(f: Frame, node: ast.Call, owner: Value, call: CallArguments) -> Value | None:
    """`x.fill_(number)` and `x.zero_()` of a tensor of ints or bools that was made for the call or has one name only, and
    `x.fill_diagonal_(flag)` of a mask; None for other tensors. Raises Refused."""
    assert isinstance(node.func, ast.Attribute)
    who = node.func.value
    is_named = isinstance(who, ast.Name) and who.id in f.owned
    if not is_named and not _made_for(f, node):
        return None
    (number,), bound = call.bind("value", value=Static(0)), len(f.builder.bindings)
    if is_unknown(number):  # the type of the result is known all the same, which ends a loop's search for types
        f.program.incomplete = True
        return guess(owner.type) if isinstance(owner, Dyn) else owner
    if is_mask(owner) or of_bools(owner):
        flag = Static(bool(constant(number, "what a tensor of bools is filled with")))
        of_numbers = [plain(owner), Static(float(flag.value))]
        result: Value
        if is_mask(owner) and call.name == "fill_diagonal_":
            result = mask(f.program.call(f, node, library.FUNCTIONS["fill_diagonal"], of_numbers, {}))
        elif is_mask(owner):
            result = mask(call_operation(f, "full_like", CallArguments("full_like", of_numbers, {})))
        else:
            result = elementwise(f, [owner], lambda _: flag)
    else:
        result = call_operation(f, "full_like", CallArguments("full_like", [owner, number], {}))
    return given_to(f, who.id, bound, result) if is_named else result  # type: ignore[attr-defined]


def _changed_by_library(f: Frame, node: ast.Call, owner: Dyn, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`x.index_add_(...)` and the like, of library operations. Refuses tensors not made by this function or for the call."""
    assert isinstance(node.func, ast.Attribute)

    def changed(x: Dyn) -> Value:
        return f.program.call(f, node, library.FUNCTIONS[name], [x, *args], kwargs)

    bound = len(f.builder.bindings)
    match node.func.value:
        case ast.Name(who) if who in f.owned:
            return given_to(f, who, bound, changed(owner))
    return changed(owner) if _made_for(f, node) else in_place(f, owner, changed, node)


def _made_for(f: Frame, node: ast.Call) -> bool:
    """Whether a method's tensor is made for the call: `torch.ones(1, 1).type_as(x).fill_(2)`."""
    assert isinstance(node.func, ast.Attribute)
    owner = node.func.value
    while isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.func.attr in CONVERSIONS:
        owner = owner.func.value
    match owner:
        case ast.Call(ast.Attribute(attr=name) | ast.Name(name)) as call:
            return name in OWNERS and not calls_own_function(f, call)
    return False


CONVERSIONS = ("type", "type_as", "to", "long", "int", "float")
"""Methods that give a tensor of another dtype."""


@handles(METHODS, Held)
def _held_method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner = method.owner
    args, kwargs = each_as(f, as_tensor, args, kwargs)
    if is_one_hot(owner):
        result = of_one_hot(f, method.name, [owner, *args], kwargs)
        return _method(f, node, Method(ints_of(f, owner), method.name), args, kwargs) if result is None else result
    args, kwargs = each_as(f, ints_of, args, kwargs)
    changed = method.name.removesuffix("_")
    if is_mask(owner) and changed != method.name and changed in (*OVERWRITING, "fill_diagonal") and isinstance(node, ast.Call):
        return _overwritten(f, node, owner, CallArguments(method.name, args, kwargs)) or in_place(f, owner, lambda x: x)
    if is_mask(owner) and method.name in library.FUNCTIONS and method.name not in MASK_OPERATIONS:
        return f.program.call(f, node, library.FUNCTIONS[method.name], [owner, *args], kwargs)
    if is_mask(owner):
        return with_masks(f, method.name, CallArguments(method.name, [owner, *args], kwargs))
    if owner.kind == "index" and method.name in ("item", "long", "int") and not args:
        inner: Value = owner.value if method.name == "item" else owner
        return inner
    if owner.kind in ("index", "ids", "loose"):
        return _of_ints(f, node, method.name, CallArguments(method.name, [owner, *args], kwargs))
    if owner.kind == "bytes":
        return of_bytes(f, method.name, CallArguments(method.name, [owner, *args], kwargs))
    if owner.kind == "row" and method.name in ("view", "reshape"):
        return call_operation(f, "reshape", CallArguments("reshape", [owner.value, *args], kwargs))
    raise Mismatch(owner.refusal)


OF_ONE_INT = ("clamp", "clip", "abs")
"""Functions of the library that make an int of one int."""


def _of_ints(f: Frame, node: ast.AST, name: str, call: CallArguments) -> Value:
    """A method of a tensor of ints that is written out, or of an int that is an element of one."""
    if name == "to" and (dtypes := {*map(wanted_dtype, (*call.args[1:], *call.kwargs.values()))} - {None}):
        dtype = next(iter(dtypes))
        name = {torch.float32: "float", torch.bool: "bool", torch.int64: "long"}.get(dtype or torch.int64, name)
        call = call if name == "to" else CallArguments(name, call.args[:1], {})
    if name in MOVES or isinstance(call.args[0], Held) and call.args[0].kind == "loose":
        return call_operation(f, name, call)
    have = extents_of(f, call.args[0])
    if name in ("dim", "size") and not call.args[1:]:
        return Static(len(have)) if name == "dim" else Static(tuple(have))
    if name == "to" and all(wanted_dtype(v) is None for v in (*call.args[1:], *call.kwargs.values())):
        return call.args[0]
    whole = arranged(f, elements(f, call.args[0]), have or [1])
    if name == "float" and not have:
        return select(f, as_floats(f, whole), 0, Static(0))
    if name in library.FUNCTIONS and (have or name in OF_ONE_INT):
        result = f.program.call(f, node, library.FUNCTIONS[name], [whole, *call.args[1:]], call.kwargs)
        return result if have or is_unknown(result) else Held("index", one(f, result))
    if not have and name not in ("expand", "repeat"):
        raise Refused(f"`{name}` of a tensor of one int is not in the language")
    return call_operation(f, name, CallArguments(name, [whole, *call.args[1:]], call.kwargs))


@handles(METHODS, HostTensor)
def _host_method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if method.name in host_tensors.METHODS_OF_CONSTANTS:
        return host_tensors.method(method.owner, method.name, [*args, *kwargs.values()])
    to = {wanted_dtype(v) for v in (*args, *kwargs.values())} if method.name in ("to", "type", "type_as") else set()
    whole = beside(f, method.owner, None, method.name == "float" or torch.float32 in to)
    if whole is method.owner:
        raise Mismatch(whole.refusal)
    rule = _held_method if isinstance(whole, Held) else _method
    return rule(f, node, Method(whole, method.name), args, kwargs)


@handles(METHODS, "number")
def _number_method(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    """A method of Python's numbers. Or a conversion of an element of a tensor of ints: the program already has the value, so
    nothing is done."""
    if isinstance(method.owner, ReadBool):
        return _of_read(f, node, method, args, kwargs)
    if (result := numbers.method(f, node, method.owner, method.name, args)) is not None:
        return result
    if method.name in ("item", "tolist", "long", "int", "any", "all") and not args:
        return method.owner
    return _of_ints(f, node, method.name, CallArguments(method.name, [method.owner, *args], kwargs))


def _of_read(f: Frame, node: ast.AST, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    """`any`, `all` and `item` of a bool that was read of a mask."""
    read: ReadBool = method.owner
    if args or kwargs:
        return _held_method(f, node, Method(whole_of(f, read), method.name), args, kwargs)
    if method.name == "item":
        return Dyn(read.atom)
    return read_of(Dyn(read.atom), lambda: mask(op(f, "reshape", [plain(whole_of(f, read))], {"shape": ()})))
