"""The dtype of a tensor, and ints and bools as floats."""

from __future__ import annotations

from typing import Any

import torch

from backends.acrobat.core.types import BOOL, FLOAT, INT
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.lengths import Array, item_type
from backends.acrobat.frontend.evaluator.lists.sizes import LONGEST
from backends.acrobat.frontend.kinds import is_ragged, is_tensor, known, variable_of
from backends.acrobat.frontend.tensor_types import innermost
from backends.acrobat.frontend.tensors.lifting import (
    axis,
    each_row,
    is_numbers,
    item,
    numbers_in,
    op,
    operand,
    over_rows,
    shape,
    shape_of,
)
from backends.acrobat.frontend.tensors.values import HostTensor
from backends.acrobat.frontend.values import Dyn, Held, Static, Value


def as_floats(f: Frame, x: Array) -> Value:
    """A tensor of ints or bools as one of floats. For a tensor that the program has computed the instance waits."""

    def number(i: Value) -> Value:
        return Dyn(operand(f, f.host("float", [i], FLOAT)))

    if not is_ragged(x):
        if not shape_of(x):
            return number(item(f, x))
        if len(shape_of(x)) == 1:
            parts = [number(i) for i in f.display(numbers_in(f, x)) or []]
        else:
            parts = [as_floats(f, op(f, "index", [x], {"dim": 0, "i": i})) for i in range(shape_of(x)[0])]
        return op(f, "stack", parts, {"dim": 0})
    if not is_numbers(x):
        return over_rows(f, x, axis(x), lambda part: as_floats(f, part))
    constants = f.builder.ranges.get(variable_of(x), range(0))
    if constants and max(map(abs, (constants[0], constants[-1]))) < EXACT and None not in shape(x):
        return op(f, "reshape", [_counted(f, constants)], {"shape": shape(x)})
    of_bools, around = item_type(x) == BOOL, (1,) * (len(shape(x)) - 1)

    def part(i: Value) -> Value:
        result = number(f.host("int", [i], INT) if of_bools else i)
        return op(f, "reshape", [result], {"shape": around}) if around else result

    extent = shape(x)[axis(x)]
    return each_row(f, [x], part, axis(x), extent if extent is not None and extent <= LONGEST else None)


EXACT = 2**24
"""All ints below this one are floats, without rounding."""


def _counted(f: Frame, ints: range) -> Dyn:
    """The ints of a range as a tensor of floats, by doubling: the second half is the first one, with a number added."""
    tensor, count = op(f, "full", [], {"shape": (1,), "value": float(ints[0])}), 1
    while count < len(ints):
        more = op(f, "add", [tensor, Static(float(count * ints.step))])
        tensor = op(f, "cat", [tensor, more], {"dim": 0})
        count *= 2
    return op(f, "slice", [tensor], {"dim": 0, "start": 0, "stop": len(ints)}) if count > len(ints) else tensor


def dtype_of(value: Value) -> torch.dtype | None:
    """The dtype of a tensor, a mask or a tensor that serves as an index; None for other values."""
    match value:
        case Held("mask"):
            return torch.bool
        case Held("index" | "ids" | "loose" | "ones"):
            return torch.int64
        case HostTensor():
            return value.tensor.dtype
        case Dyn() if is_tensor(value) or is_ragged(value):
            t = innermost(value.type)
            return torch.bool if t == BOOL else torch.int64 if t == INT or getattr(t, "dtype", "") == "int64" else torch.float32
    return None


def one_or_zero(f: Frame, value: Value) -> Value:
    """A bool as the float that stands for it in a mask."""
    is_known, flag = known(value)
    return Static(float(flag)) if is_known else f.host("float", [f.host("int", [value], INT)], FLOAT)


def of_bools(value: Any) -> bool:
    """Whether a value is a tensor of bools of the instance, or one that the model made."""
    return is_ragged(value) and dtype_of(value) == torch.bool
