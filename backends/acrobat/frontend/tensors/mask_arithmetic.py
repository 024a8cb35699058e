"""Masks, and tensors of one int, in arithmetic with other tensors; masks as tensors of other dtypes, and made like others."""

from __future__ import annotations

import ast
from typing import Any

import torch

from backends.acrobat import library
from backends.acrobat.core.types import BOOL, FLOAT, INT
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.scalars.operators import binary, of_numbers
from backends.acrobat.frontend.evaluator.tables import BINARY, handles
from backends.acrobat.frontend.kinds import is_number, is_ragged, is_tensor, type_or_none
from backends.acrobat.frontend.tensors.buffers import beside
from backends.acrobat.frontend.tensors.conversions import wanted_dtype
from backends.acrobat.frontend.tensors.dtypes import as_floats, dtype_of
from backends.acrobat.frontend.tensors.ints import arithmetic, is_ints, on_host
from backends.acrobat.frontend.tensors.lifting import op, operand, shape
from backends.acrobat.frontend.tensors.mask_operations import MASK_OPERATIONS, as_ints, floats_of
from backends.acrobat.frontend.tensors.masks import both, is_mask, is_one_hot, mask, plain, read_of, whole_of
from backends.acrobat.frontend.tensors.one_hot import ints_of
from backends.acrobat.frontend.tensors.operations import call_operation
from backends.acrobat.frontend.tensors.values import HostTensor, ReadBool
from backends.acrobat.frontend.types import Mismatch
from backends.acrobat.frontend.values import HELD, Dyn, Held, Static, Value

OF_BOOLS = {"add": "bitor", "mul": "bitand"}
"""The arithmetic of two tensors of bools, which gives bools in PyTorch."""


@handles(BINARY, HostTensor)
def of_buffers(f: Frame, node: ast.AST, operator: ast.operator, name: str, a: Value, b: Value) -> Value:
    """A buffer and another value. Raises Mismatch."""
    x, y = beside(f, a, b, name == "div"), beside(f, b, a, name == "div")
    if x is a and y is b:
        raise Mismatch(next(v for v in (a, b) if isinstance(v, HostTensor)).refusal)
    return binary(f, node, operator, x, y)


@handles(BINARY, Held)
def of_masks(f: Frame, node: ast.AST, operator: ast.operator, name: str, a: Value, b: Value) -> Value:
    """`& | ^` of two masks; `+ - * /` of a mask, as ones and zeros, and another value. Raises Mismatch."""
    if isinstance(a, HostTensor) or isinstance(b, HostTensor):
        return of_buffers(f, node, operator, name, a, b)
    a, b = whole_of(f, a), whole_of(f, b)
    if is_one_hot(a) or is_one_hot(b):
        floats = any(dtype_of(v) == torch.float32 or is_number(v) and type_or_none(v) == FLOAT for v in (a, b))
        if name == "div" or floats and name in ("add", "sub", "mul"):
            return op(f, name, [_as_float(f, plain(v)) for v in (a, b)])
        a, b = ints_of(f, a), ints_of(f, b)
    whole = arithmetic(f, name, a, b)
    if whole is not None:
        return whole
    if not is_mask(a) and not is_mask(b):
        return _with_index(f, name, a, b)
    if is_mask(a) and is_mask(b) and name in OF_BOOLS:
        return both(f, OF_BOOLS[name], a, b)
    if name in ("bitand", "bitor", "bitxor"):
        return both(f, name, a, b)
    if is_mask(a) and is_mask(b) or name not in ("add", "sub", "mul", "div"):
        raise Mismatch(HELD["mask"])
    if name != "div" and any(is_ints(v) or type_or_none(v) == INT for v in (a, b)):  # ints; PyTorch has no `-` of bools
        result = arithmetic(f, name, *(as_ints(f, v) if is_mask(v) else v for v in (a, b))) if name != "sub" else None
        if result is None:
            raise Mismatch(HELD["mask"])
        return result
    return op(f, name, [_as_float(f, plain(v)) for v in (a, b)])


@handles(BINARY, ReadBool)
def _of_read(f: Frame, node: ast.AST, operator: ast.operator, name: str, a: Value, b: Value) -> Value:
    """A bool that was read of a mask, and a number: as of the mask, but for bits of bools, which give a bool that is read, and
    for ints beside one without dimensions, which are numbers of the program as it is. Raises Mismatch."""
    bits = OF_BOOLS.get(name, name)
    if bits.startswith("bit") and all(type_or_none(v) == BOOL for v in (a, b)):
        return read_of(of_numbers(f, node, bits, a, b), lambda: both(f, bits, a, b))
    x, y = whole_of(f, a), whole_of(f, b)
    if not any(shape(v.value) for v in (x, y) if is_mask(v)) and type_or_none(a) != FLOAT != type_or_none(b):
        return of_numbers(f, node, name, a, b)
    return of_masks(f, node, operator, name, x, y)


def _with_index(f: Frame, name: str, a: Any, b: Any) -> Value:
    """Arithmetic of a tensor of one int, or of a list of ints written out, and a tensor of floats, a float, or with `/` an int.
    Raises Mismatch."""
    of_float = any(is_tensor(v) or is_ragged(v) or type_or_none(v) == FLOAT for v in (a, b))
    if not of_float and name != "div" or name not in ("add", "sub", "mul", "div"):
        raise Mismatch(next(v for v in (a, b) if isinstance(v, (Held, HostTensor))).refusal)
    return op(f, name, [_as_float(f, v) for v in (a, b)])


def _as_float(f: Frame, value: Any) -> Value:
    """A tensor of ints, or an int, as a tensor of floats; other values unchanged. Raises Mismatch."""
    match value:
        case Held("index", number):
            return Dyn(operand(f, f.coerce(number, FLOAT)))
        case Held("ids"):
            return as_floats(f, on_host(f, value))
        case Held():
            raise Mismatch(value.refusal)
    if is_number(value) and type_or_none(value) == INT:
        return f.coerce(value, FLOAT)
    return as_floats(f, value) if dtype_of(value) == torch.int64 else value


@handles(MASK_OPERATIONS, "to", "type", "type_as")
def _converted(f: Frame, call: CallArguments) -> Value:
    """`mask.to(...)`, `mask.type(...)`, `mask.type_as(x)`; and `x.type_as(mask)`."""
    x = call.args[0]
    if not is_mask(x):
        return call_operation(f, call.name, call)
    for v in (*call.args[1:], *call.kwargs.values()):
        wanted = wanted_dtype(v)
        if wanted in (torch.int64, torch.int32):
            return as_ints(f, x)
        if wanted == torch.float32:
            return floats_of(f, x)
        if wanted is not None and wanted != torch.bool:
            raise Refused(f"tensors are float32 here, not {str(wanted).removeprefix('torch.')}", "write `.float()`")
    return x


@handles(MASK_OPERATIONS, "zeros_like", "ones_like", "empty_like", "full_like")
def _like(f: Frame, call: CallArguments) -> Value:
    """A mask that is false, or true, everywhere, or a tensor of the `dtype` that the call names."""
    dtype = call.kwargs.pop("dtype", Static(torch.bool))
    if call.name == "full_like":
        whole, value = call.bind("input", "fill_value")
        call = CallArguments(call.name, [whole, f.coerce(value, BOOL) if dtype == Static(torch.bool) else value], {})
    result = call_operation(f, call.name, CallArguments(call.name, [plain(v) for v in call.args], call.kwargs))
    return _converted(f, CallArguments("to", [mask(result), dtype], {}))


@handles(MASK_OPERATIONS, "new_zeros", "new_ones", "new_full")
def _new(f: Frame, call: CallArguments) -> Value:
    name = call.name.removeprefix("new_")
    kwargs = {"dtype": Static(torch.bool), **call.kwargs}
    return call_operation(f, name, CallArguments(name, call.args[1:], kwargs))


@handles(MASK_OPERATIONS, "cumsum", "cumprod")
def _running(f: Frame, call: CallArguments) -> Value:
    """Of a mask `cumsum` and `cumprod` give ints, for which the instance waits."""
    ones = [plain(call.args[0]), *call.args[1:]]
    return as_ints(f, f.program.call(f, ast.Pass(), library.FUNCTIONS[call.name], ones, call.kwargs))
