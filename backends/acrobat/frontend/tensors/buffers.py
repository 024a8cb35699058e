"""Buffers of ints and bools as tensors: `self.positions[:, :n] + 1`, `x.masked_fill(~self.causal[:n, :n], -1e9)`.

A buffer of bools is a mask, and one of ints a tensor of ints (`int_buffers`); as floats both are weights. Where the source
reads single values, as in `if self.flags[2]:`, a buffer stays a constant (`host_tensors`).
"""

from __future__ import annotations

import ast
from typing import Any

import torch

from backends.acrobat.core.types import FLOAT
from backends.acrobat.frontend.evaluator.conditions.comparisons import comparison
from backends.acrobat.frontend.evaluator.expressions.indexing import subscript
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import COMPARED_AS_WHOLES, ITERATION, RESULTS, STAGED, UNARY, handles
from backends.acrobat.frontend.kinds import type_or_none
from backends.acrobat.frontend.tensors.dtypes import dtype_of
from backends.acrobat.frontend.tensors.host_tensors import element
from backends.acrobat.frontend.tensors.int_buffers import LONGEST, is_buffer_of_ints, written_out
from backends.acrobat.frontend.tensors.lifting import op
from backends.acrobat.frontend.tensors.masks import compared, mask, whole_of
from backends.acrobat.frontend.tensors.values import HostTensor, ReadBool
from backends.acrobat.frontend.values import Dyn, TupleV, Value


def as_tensor(f: Frame, value: Any) -> Any:
    """A buffer of ints with dimensions, or of several bools, or a part of one by constant indices, as a tensor of ints or a
    mask, and a bool that was read of a mask as that mask; any other value as it is. Raises Refused."""
    if isinstance(value, ReadBool):
        return whole_of(f, value)
    if not isinstance(value, HostTensor):
        return value
    of_bools = value.tensor.dtype == torch.bool
    return whole_tensor(f, value) if (value.tensor.numel() != 1 if of_bools else value.tensor.ndim) else value


def whole_tensor(f: Frame, value: Any) -> Any:
    """As `as_tensor`, of one element too."""
    if isinstance(value, HostTensor) and value.tensor.dtype == torch.bool:
        weight = as_floats(f, value)
        return value if weight is None else mask(weight)
    return written_out(f, value) if is_buffer_of_ints(value) else value


def as_floats(f: Frame, value: HostTensor) -> Value | None:
    """A buffer of ints or bools as a tensor of floats, which is a weight; None if its memory cannot be read."""
    if not value.tensor.ndim:
        return op(f, "full", [], {"shape": (), "value": float(value.tensor.item())}, "constant")
    weight = f.program.weight_of_constants(value.buffer)
    if weight is None:
        return None
    result: Value = Dyn(weight)
    for index in value.parts:
        result = subscript(f, ast.Pass(), result, index)
    return result


def beside(f: Frame, value: Any, other: Any, of_floats: bool = False) -> Any:
    """A buffer as the tensor that it is in an operation together with another value: of floats beside one of these."""
    is_float = of_floats or dtype_of(other) == torch.float32 or type_or_none(other) == FLOAT
    floats = as_floats(f, value) if is_float and is_buffer_of_ints(value) else None
    return whole_tensor(f, value) if floats is None else floats


def _compared(f: Frame, compare: ast.cmpop, a: Value, b: Value) -> Value | None:
    """A comparison of a buffer, element by element; None for others, and for a single value that is compared with a number."""
    of_several = [v.tensor.numel() > 1 if isinstance(v, HostTensor) else dtype_of(v) is not None for v in (a, b)]
    if not any(isinstance(v, HostTensor) for v in (a, b)):
        return None
    if not any(of_several):
        return comparison(f, ast.Pass(), compare, *(v.read() if isinstance(v, HostTensor) else v for v in (a, b)))
    x, y = beside(f, a, b), beside(f, b, a)
    return None if x is a and y is b else compared(f, compare, x, y)


COMPARED_AS_WHOLES.insert(0, _compared)  # before the rule for tensors of the program


@handles(UNARY, HostTensor)
def _unary(f: Frame, operator: ast.unaryop, a: HostTensor) -> Value | None:
    whole = whole_tensor(f, a)
    return None if whole is a else f.expression(ast.UnaryOp(operator, CompiledNode(whole)))


@handles(ITERATION, HostTensor)
def _parts(f: Frame, x: HostTensor) -> Value:
    """What a loop over a buffer takes: constants, unless these are many."""
    if not x.tensor.ndim or len(x.tensor) <= LONGEST:
        return TupleV(tuple(element(f, x, ast.Constant(i)) for i in range(len(x.tensor))))
    return ITERATION["ragged"](f, as_tensor(f, x))


def _as_value(f: Frame, value: Any) -> Value | None:
    """A buffer as a value of the program; None for other values, and for buffers that are none."""
    whole = whole_tensor(f, value)
    return None if whole is value else whole


STAGED.append(_as_value)


def _as_result(f: Frame, value: Any) -> Value | None:
    if (whole := _as_value(f, value)) is None:
        return None
    return next((result for rule in RESULTS if rule is not _as_result and (result := rule(f, whole)) is not None), whole)


RESULTS.append(_as_result)
