"""Operations that move elements: their shape rules (functions from the operands' types and the attributes to the result's type,
which raise ShapeError), and which of them are views of their operand's memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from backends.acrobat.core.operands import Attrs, ShapeError, expect_count, tensor, text
from backends.acrobat.core.types import DType, TensorT, Type


def _one_dtype(types: Sequence[Type], op: str) -> DType:
    """The element type that all operands of `op` have. Raises ShapeError if they differ."""
    dtypes = {tensor(types, i, op).dtype for i in range(max(1, len(types)))}
    if len(dtypes) != 1:
        raise ShapeError(f"{op}: float32 and int64 tensors do not mix")
    return dtypes.pop()


def cat_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    """The shape rule of `cat`: shapes may differ along the dimension `dim`, which exists. Raises ShapeError."""
    dtype = _one_dtype(types, "cat")
    shapes = [tensor(types, i, "cat").shape for i in range(len(types))]
    dim = attrs["dim"]
    if not 0 <= dim < len(shapes[0]):
        raise ShapeError(f"cat: there is no dimension {dim} in shapes {text(types)}")
    other_extents = {s[:dim] + s[dim + 1 :] for s in shapes}
    if len(other_extents) != 1 or len({len(s) for s in shapes}) != 1:
        raise ShapeError(f"cat along dimension {dim}: the shapes {text(types)} differ elsewhere")
    first = shapes[0]
    return TensorT((*first[:dim], sum(s[dim] for s in shapes), *first[dim + 1 :]), dtype)


def stack_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    """The shape rule of `stack`: a new dimension `dim` of tensors of one shape. Raises ShapeError."""
    dtype = _one_dtype(types, "stack")
    shapes = {tensor(types, i, "stack").shape for i in range(len(types))}
    if len(shapes) != 1:
        raise ShapeError(f"stack: the shapes {text(types)} differ")
    shape = shapes.pop()
    dim = attrs["dim"]
    if not 0 <= dim <= len(shape):
        raise ShapeError(f"stack: shape {shape} has no place for a new dimension {dim}")
    return TensorT((*shape[:dim], len(types), *shape[dim:]), dtype)


def slice_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    expect_count(types, 1, "slice")
    shape, dim = tensor(types, 0, "slice").shape, attrs["dim"]
    start, stop = attrs["start"], attrs["stop"]
    if not 0 <= dim < len(shape) or not 0 <= start <= stop <= shape[dim]:
        raise ShapeError(f"slice {start}:{stop} of dimension {dim} does not lie in shape {shape}")
    return TensorT((*shape[:dim], stop - start, *shape[dim + 1 :]), tensor(types, 0, "slice").dtype)


def index_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    expect_count(types, 1, "index")
    shape, dim, i = tensor(types, 0, "index").shape, attrs["dim"], attrs["i"]
    if not 0 <= dim < len(shape) or not 0 <= i < shape[dim]:
        raise ShapeError(f"index {i} of dimension {dim} does not lie in shape {shape}")
    return TensorT((*shape[:dim], *shape[dim + 1 :]), tensor(types, 0, "index").dtype)


def reshape_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    expect_count(types, 1, "reshape")
    t, shape = tensor(types, 0, "reshape"), tuple(attrs["shape"])
    if math.prod(shape) != t.size or any(n < 0 for n in shape):
        raise ShapeError(f"reshape: {t.shape} has {t.size} elements, {shape} has {math.prod(shape)}")
    return TensorT(shape, t.dtype)


def permute_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    expect_count(types, 1, "permute")
    t, dims = tensor(types, 0, "permute"), tuple(attrs["dims"])
    if sorted(dims) != list(range(len(t.shape))):
        raise ShapeError(f"permute: {dims} is no permutation of the dimensions of {t.shape}")
    return TensorT(tuple(t.shape[d] for d in dims), t.dtype)


def part_along(x: np.ndarray, attrs: Attrs, part: slice | int) -> np.ndarray:
    """x[..., part, ...], where `part` stands at the dimension that `attrs` name."""
    return np.asarray(x[(slice(None),) * attrs["dim"] + (part,)])


def view_displacement(op: str, types: Sequence[Type], attrs: Attrs) -> int | None:
    """The displacement of the result in the first operand's memory, in 4-byte elements; None if it is not contiguous there."""
    if op not in ("slice", "index", "reshape", "permute"):
        return None
    t = tensor(types, 0, op)
    unit = 2 if t.dtype == "int64" else 1
    if op == "reshape":
        return 0
    if op == "permute":
        dims = [d for d in attrs["dims"] if t.shape[d] != 1]
        return 0 if dims == sorted(dims) else None
    dim = attrs["dim"]
    start: int
    start, stop = (attrs["start"], attrs["stop"]) if op == "slice" else (attrs["i"], attrs["i"] + 1)
    if math.prod(t.shape[:dim]) != 1:
        return 0 if stop - start == t.shape[dim] else None
    return start * math.prod(t.shape[dim + 1 :]) * unit
