"""Buffers of bools as masks: `x.masked_fill(~self.causal[:n, :n], -1e9)`. The program has such a buffer as a weight of ones and
zeros. Where the source reads single values of it, as in `if self.flags[2]:`, it stays a constant (`host_tensors`)."""

from __future__ import annotations

import ast
from typing import Any

import torch

from backends.acrobat.frontend.evaluator.expressions.indexing import subscript
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import COMPARED_AS_WHOLES, UNARY, handles
from backends.acrobat.frontend.tensors.masks import compared, mask, negated, whole_of
from backends.acrobat.frontend.tensors.values import HostTensor, ReadBool
from backends.acrobat.frontend.values import Dyn, Held, Value


def as_flags(f: Frame, value: Any) -> Any:
    """A buffer of several bools, or a part of one by constant indices, as a mask, and so is a bool that was read of a mask; any
    other value as it is."""
    if isinstance(value, ReadBool):
        return whole_of(f, value)
    if not isinstance(value, HostTensor) or value.tensor.dtype != torch.bool or value.tensor.numel() == 1:
        return value
    weight = f.program.flags(value.buffer)
    if weight is None:
        return value
    result: Value = mask(Dyn(weight))
    for index in value.parts:
        result = subscript(f, ast.Pass(), result, index)
    return result


def _compared(f: Frame, compare: ast.cmpop, a: Value, b: Value) -> Value | None:
    """A comparison of a buffer of bools, element by element; None for others."""
    if not any(isinstance(v, HostTensor) for v in (a, b)):
        return None
    x, y = as_flags(f, a), as_flags(f, b)
    return None if x is a and y is b else compared(f, compare, x, y)


COMPARED_AS_WHOLES.append(_compared)


@handles(UNARY, HostTensor)
def _inverted(f: Frame, operator: ast.unaryop, a: HostTensor) -> Value | None:
    flags = as_flags(f, a)
    return negated(f, flags) if isinstance(flags, Held) and isinstance(operator, ast.Invert) else None
