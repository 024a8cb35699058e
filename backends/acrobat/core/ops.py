"""The operations of the core IR on tensors: the shape rule of each, its meaning in float64, and how it may be fused.

Element-wise operations broadcast as numpy does and also take host literals. Dimensions in attributes are non-negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from backends.acrobat.core.moves import cat_type, index_type, part_along, permute_type, reshape_type, slice_type, stack_type
from backends.acrobat.core.operands import Attrs, ShapeError, expect_count, floating, tensor, text
from backends.acrobat.core.reductions import (
    along,
    argmax,
    layer_norm,
    layer_norm_type,
    list_attention,
    list_attention_type,
    list_reduction,
    list_softmax,
    list_softmax_type,
    of_list,
    reduction,
    softmax,
)
from backends.acrobat.core.types import INT, ScalarT, TensorT, Type


class Fusion(Enum):
    """What kind of operation it is, which decides how it can be fused into a kernel."""

    ELEMENTWISE = "elementwise"
    MOVE = "move"  # cat, stack, slice, ...: elements change place
    PRODUCT = "product"
    REDUCTION = "reduction"
    ADDRESS = "address"  # finds a tensor in memory: never a launch
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class OpDef:
    """`infer(arg types, attrs)` raises ShapeError; `evaluate(args, attrs)` works on float64 and int64 arrays of one instance
    (a list of them for an operand of `LISTS`). Use them through `infer` and `evaluate` below, which check more."""

    name: str
    fusion: Fusion
    infer: Callable[[Sequence[Type], Attrs], TensorT]
    evaluate: Callable[[Sequence[Any], Attrs], np.ndarray]


# ---- element-wise


def _broadcast(op: str) -> Callable[[Sequence[Type], Attrs], TensorT]:
    def infer(types: Sequence[Type], attrs: Attrs) -> TensorT:
        shapes = [floating(types, i, op).shape for i, t in enumerate(types) if isinstance(t, TensorT)]
        if not shapes or any(not isinstance(t, (TensorT, ScalarT)) for t in types):
            raise ShapeError(f"{op} needs tensors or numbers, got ({text(types)})")
        try:
            return TensorT(tuple(np.broadcast_shapes(*shapes)))
        except ValueError:
            raise ShapeError(f"{op}: the shapes {text(types)} do not broadcast") from None

    return infer


def _sigmoid(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-x)))


_erf = np.vectorize(math.erf, otypes=[np.float64])

_ELEMENTWISE: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "neg": np.negative,
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0.0),
    "gelu": lambda x: 0.5 * x * (1.0 + _erf(x / math.sqrt(2.0))),
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "sin": np.sin,
    "cos": np.cos,
    "less": np.less,
    "less_equal": np.less_equal,
    "equal": np.equal,
    "where": lambda mask, x, y: np.asarray(np.where(np.asarray(mask) != 0, x, y)),
}
"""Comparisons give 1 where they hold and 0 elsewhere; `where(mask, x, y)` is x where such a mask is not 0, else y."""
_UNARY = frozenset({"neg", "sigmoid", "tanh", "relu", "gelu", "exp", "log", "sqrt", "floor", "sin", "cos"})


def _elementwise(name: str, meaning: Callable[..., np.ndarray]) -> OpDef:
    arity = 3 if name == "where" else 1 if name in _UNARY else 2
    broadcast = _broadcast(name)

    def infer(types: Sequence[Type], attrs: Attrs) -> TensorT:
        expect_count(types, arity, name)
        return broadcast(types, attrs)

    def evaluate(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(meaning(*args), np.float64)

    return OpDef(name, Fusion.ELEMENTWISE, infer, evaluate)


# ---- products


def _linear_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    x, w = floating(types, 0, "linear"), floating(types, 1, "linear")
    expect_count(types, min(max(len(types), 2), 3), "linear")
    if len(w.shape) != 2 or not x.shape or x.shape[-1] != w.shape[1]:
        raise ShapeError(f"linear: an input of shape {x.shape} does not fit a weight of shape {w.shape} (out, in)")
    if len(types) > 2 and floating(types, 2, "linear").shape != (w.shape[0],):
        raise ShapeError(f"linear: a bias of shape {tensor(types, 2, 'linear').shape} does not fit a weight of shape {w.shape}")
    return TensorT((*x.shape[:-1], w.shape[0]))


def _matmul_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    expect_count(types, 2, "matmul")
    a, b = floating(types, 0, "matmul").shape, floating(types, 1, "matmul").shape
    try:
        if not a or not b:
            raise ValueError
        inner = b[0] if len(b) == 1 else b[-2]
        if a[-1] != inner:
            raise ValueError
        batch = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise ShapeError(f"matmul: the shapes {a} and {b} do not fit") from None
    rows = a[-2:-1] if len(a) > 1 else ()
    columns = b[-1:] if len(b) > 1 else ()
    return TensorT((*batch, *rows, *columns))


# ---- addresses and constants


def _row_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    table = floating(types, 0, "row")
    if not table.shape or len(types) != 2 or types[1] != INT:
        raise ShapeError(f"row needs a table and an int, got ({text(types)})")
    return TensorT(table.shape[1:])


def _row(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
    table, i = args
    if not -len(table) <= i < len(table):
        raise IndexError(f"index {i} is out of range: the table has {len(table)} rows")
    return np.asarray(table[i])


def _lookup_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    expect_count(types, 3, "lookup")
    x, table, results = (floating(types, i, "lookup") for i in range(3))
    if not results.shape or table.shape[:1] != results.shape[:1] or table.shape[1:] != x.shape:
        raise ShapeError(f"lookup needs a row of a table, the table, and another with as many rows, got {text(types)}")
    return TensorT(results.shape[1:])


def _lookup(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
    """The row of the second table at the index that `x` has in the first. Raises ValueError if `x` is no row of the first."""
    x, table, results = args
    positions = np.flatnonzero((table == x).reshape(len(table), -1).all(axis=1))
    if not len(positions):
        raise ValueError("lookup: the operand is no row of its table")
    return np.asarray(results[positions[0]])


def _scalar_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    if len(types) != 1 or not isinstance(types[0], ScalarT):
        raise ShapeError(f"scalar needs a host number, got ({text(types)})")
    return TensorT(())


def _full_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    if types or any(n < 0 for n in attrs["shape"]) or not isinstance(attrs["value"], (int, float)):
        raise ShapeError(f"full takes no operands, a shape and a number, got {attrs['shape']} and {attrs['value']!r}")
    return TensorT(tuple(attrs["shape"]))


def _linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    product: np.ndarray = x @ weight.T
    return product if bias is None else product + bias


OPS: dict[str, OpDef] = {
    d.name: d
    for d in [
        *(_elementwise(name, meaning) for name, meaning in _ELEMENTWISE.items()),
        OpDef("linear", Fusion.PRODUCT, _linear_type, lambda a, k: _linear(*a)),
        OpDef("matmul", Fusion.PRODUCT, _matmul_type, lambda a, k: np.matmul(a[0], a[1])),
        OpDef("cat", Fusion.MOVE, cat_type, lambda a, k: np.concatenate(a, axis=k["dim"])),
        OpDef("stack", Fusion.MOVE, stack_type, lambda a, k: np.stack(a, axis=k["dim"])),
        OpDef("slice", Fusion.MOVE, slice_type, lambda a, k: part_along(a[0], k, slice(k["start"], k["stop"]))),
        OpDef("index", Fusion.MOVE, index_type, lambda a, k: part_along(a[0], k, k["i"])),
        OpDef("reshape", Fusion.MOVE, reshape_type, lambda a, k: a[0].reshape(k["shape"])),
        OpDef("permute", Fusion.MOVE, permute_type, lambda a, k: a[0].transpose(k["dims"])),
        OpDef("softmax", Fusion.REDUCTION, along("softmax", drop=False), softmax),
        OpDef("argmax", Fusion.REDUCTION, along("argmax", "int64"), lambda a, k: argmax(a[0], k)),
        OpDef("layer_norm", Fusion.REDUCTION, layer_norm_type, layer_norm),
        OpDef("sum", Fusion.REDUCTION, along("sum"), reduction(np.sum)),
        OpDef("mean", Fusion.REDUCTION, along("mean"), reduction(np.mean)),
        OpDef("max", Fusion.REDUCTION, along("max"), reduction(np.max)),
        OpDef("list_sum", Fusion.REDUCTION, of_list("list_sum"), list_reduction("sum", np.sum, 0.0)),
        OpDef("list_max", Fusion.REDUCTION, of_list("list_max"), list_reduction("maximum", np.max, -math.inf)),
        OpDef("list_min", Fusion.REDUCTION, of_list("list_min"), list_reduction("minimum", np.min, math.inf)),
        OpDef("list_softmax", Fusion.REDUCTION, list_softmax_type, list_softmax),
        OpDef("list_attention", Fusion.REDUCTION, list_attention_type, list_attention),
        OpDef("row", Fusion.ADDRESS, _row_type, _row),
        OpDef("lookup", Fusion.ADDRESS, _lookup_type, _lookup),
        OpDef("scalar", Fusion.ADDRESS, _scalar_type, lambda a, k: np.asarray(float(a[0]))),
        OpDef("full", Fusion.CONSTANT, _full_type, lambda a, k: np.full(k["shape"], float(k["value"]))),
    ]
}
ITEMWISE = {"list_sum": "sum", "list_max": "maximum", "list_min": "minimum"}
"""Element-wise reductions of a list of tensors, with the words for their results in messages. With the attribute `nonempty` an
empty list is an error."""

LISTS = frozenset({*ITEMWISE, "list_softmax", "list_attention"})
"""Operations over lists of any length: their list operands are tables of addresses in a kernel."""


def infer(op: str, types: Sequence[Type], attrs: Attrs) -> TensorT:
    """The result type of a tensor operation. Raises ShapeError."""
    if op not in OPS:
        raise ShapeError(f"there is no operation {op!r}")
    try:
        return OPS[op].infer(types, attrs)
    except KeyError as missing:
        raise ShapeError(f"{op} needs the attribute {missing}") from None


def evaluate(op: str, args: Sequence[Any], attrs: Attrs, result: TensorT) -> np.ndarray:
    """The value of an operation whose result type is `result`: float64 or int64, and where elements only move what they were.
    Raises ValueError for the sum, maximum or minimum of an empty list that must not be empty, IndexError for a row outside its
    table."""
    value = np.asarray(OPS[op].evaluate(args, attrs))
    if op in LISTS:
        value = np.broadcast_to(value, result.shape)
    assert value.shape == result.shape, f"{op} gave shape {value.shape}, its rule says {result.shape}"
    return value
