"""The operations of the core IR on tensors: the shape rule of each, its meaning in float64, and how it may be fused.

Element-wise operations broadcast as numpy does and also take host literals. Dimensions in attributes are non-negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from backends.acrobat.core.types import INT, DType, ListT, ScalarT, TensorT, Type

Attrs = Mapping[str, Any]


class ShapeError(ValueError):
    """The operands do not fit the operation; the message says what they are."""


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


def text(types: Sequence[Type]) -> str:
    """Types as an error message shows them."""
    return ", ".join(str(t.shape) if isinstance(t, TensorT) else getattr(t, "kind", type(t).__name__) for t in types)


def tensor(types: Sequence[Type], i: int, op: str) -> TensorT:
    """The type of operand `i` of `op`. Raises ShapeError if it is no tensor."""
    if i >= len(types) or not isinstance(types[i], TensorT):
        raise ShapeError(f"{op} needs a tensor as operand {i + 1}, got ({text(types)})")
    return types[i]  # type: ignore[return-value]


def floating(types: Sequence[Type], i: int, op: str) -> TensorT:
    """The type of operand `i` of `op`. Raises ShapeError if it is no float32 tensor: int64 tensors are only moved and read."""
    t = tensor(types, i, op)
    if t.dtype != "float32":
        raise ShapeError(f"{op} needs float32 operands, got {t.dtype} of shape {t.shape}")
    return t


def _only(types: Sequence[Type], count: int, op: str) -> None:
    if len(types) != count:
        raise ShapeError(f"{op} takes {count} operand{'s' if count > 1 else ''}, got {len(types)}")


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
        _only(types, arity, name)
        return broadcast(types, attrs)

    def evaluate(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(meaning(*args), np.float64)

    return OpDef(name, Fusion.ELEMENTWISE, infer, evaluate)


# ---- products


def _linear_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    x, w = floating(types, 0, "linear"), floating(types, 1, "linear")
    _only(types, min(max(len(types), 2), 3), "linear")
    if len(w.shape) != 2 or not x.shape or x.shape[-1] != w.shape[1]:
        raise ShapeError(f"linear: an input of shape {x.shape} does not fit a weight of shape {w.shape} (out, in)")
    if len(types) > 2 and floating(types, 2, "linear").shape != (w.shape[0],):
        raise ShapeError(f"linear: a bias of shape {tensor(types, 2, 'linear').shape} does not fit a weight of shape {w.shape}")
    return TensorT((*x.shape[:-1], w.shape[0]))


def _matmul_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    _only(types, 2, "matmul")
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


# ---- moves


def _one_dtype(types: Sequence[Type], op: str) -> DType:
    dtypes = {tensor(types, i, op).dtype for i in range(max(1, len(types)))}
    if len(dtypes) != 1:
        raise ShapeError(f"{op}: float32 and int64 tensors do not mix")
    return dtypes.pop()


def _cat_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    dtype = _one_dtype(types, "cat")
    shapes = [tensor(types, i, "cat").shape for i in range(len(types))]
    dim = attrs["dim"]
    if not 0 <= dim < len(shapes[0]):
        raise ShapeError(f"cat: there is no dimension {dim} in shapes {text(types)}")
    rest = {s[:dim] + s[dim + 1 :] for s in shapes}
    if len(rest) != 1 or len({len(s) for s in shapes}) != 1:
        raise ShapeError(f"cat along dimension {dim}: the shapes {text(types)} differ elsewhere")
    first = shapes[0]
    return TensorT((*first[:dim], sum(s[dim] for s in shapes), *first[dim + 1 :]), dtype)


def _stack_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    dtype = _one_dtype(types, "stack")
    shapes = {tensor(types, i, "stack").shape for i in range(len(types))}
    if len(shapes) != 1:
        raise ShapeError(f"stack: the shapes {text(types)} differ")
    shape = shapes.pop()
    dim = attrs["dim"]
    if not 0 <= dim <= len(shape):
        raise ShapeError(f"stack: shape {shape} has no place for a new dimension {dim}")
    return TensorT((*shape[:dim], len(types), *shape[dim:]), dtype)


def _slice_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    _only(types, 1, "slice")
    shape, dim = tensor(types, 0, "slice").shape, attrs["dim"]
    start, stop = attrs["start"], attrs["stop"]
    if not 0 <= dim < len(shape) or not 0 <= start <= stop <= shape[dim]:
        raise ShapeError(f"slice {start}:{stop} of dimension {dim} does not lie in shape {shape}")
    return TensorT((*shape[:dim], stop - start, *shape[dim + 1 :]), tensor(types, 0, "slice").dtype)


def _index_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    _only(types, 1, "index")
    shape, dim, i = tensor(types, 0, "index").shape, attrs["dim"], attrs["i"]
    if not 0 <= dim < len(shape) or not 0 <= i < shape[dim]:
        raise ShapeError(f"index {i} of dimension {dim} does not lie in shape {shape}")
    return TensorT((*shape[:dim], *shape[dim + 1 :]), tensor(types, 0, "index").dtype)


def _reshape_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    _only(types, 1, "reshape")
    t, shape = tensor(types, 0, "reshape"), tuple(attrs["shape"])
    if math.prod(shape) != t.size or any(n < 0 for n in shape):
        raise ShapeError(f"reshape: {t.shape} has {t.size} elements, {shape} has {math.prod(shape)}")
    return TensorT(shape, t.dtype)


def _permute_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    _only(types, 1, "permute")
    t, dims = tensor(types, 0, "permute"), tuple(attrs["dims"])
    if sorted(dims) != list(range(len(t.shape))):
        raise ShapeError(f"permute: {dims} is no permutation of the dimensions of {t.shape}")
    return TensorT(tuple(t.shape[d] for d in dims), t.dtype)


def _at(x: np.ndarray, attrs: Attrs, what: slice | int) -> np.ndarray:
    key: list[slice | int] = [slice(None)] * x.ndim
    key[attrs["dim"]] = what
    return x[tuple(key)]


# ---- reductions


def _along(op: str, dtype: DType = "float32", drop: bool = True) -> Callable[[Sequence[Type], Attrs], TensorT]:
    def infer(types: Sequence[Type], attrs: Attrs) -> TensorT:
        _only(types, 1, op)
        shape, dim = floating(types, 0, op).shape, attrs["dim"]
        if not 0 <= dim < len(shape) or (shape[dim] == 0 and op != "sum"):
            raise ShapeError(f"{op}: there is nothing along dimension {dim} of shape {shape}")
        if not drop:
            return TensorT(shape, dtype)
        unit_extent = (1,) if attrs.get("keepdim") else ()
        return TensorT((*shape[:dim], *unit_extent, *shape[dim + 1 :]), dtype)

    return infer


def _softmax(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
    (x,) = args
    e = np.exp(x - x.max(axis=attrs["dim"], keepdims=True))
    return np.asarray(e / e.sum(axis=attrs["dim"], keepdims=True))


def _layer_norm_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    _only(types, 3, "layer_norm")
    x = floating(types, 0, "layer_norm")
    if not x.shape or any(floating(types, i, "layer_norm").shape != x.shape[-1:] for i in (1, 2)):
        raise ShapeError(f"layer_norm: weight and bias must have the length of the last dimension, got {text(types)}")
    return TensorT(x.shape)


def _layer_norm(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
    x, w, b = args
    centred = x - x.mean(axis=-1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + attrs["eps"]) * w + b)


def _items(types: Sequence[Type], i: int, op: str) -> TensorT:
    """The type of the tensors in a list operand."""
    found = types[i] if i < len(types) else None
    if not isinstance(found, ListT) or not isinstance(found.item, TensorT):
        raise ShapeError(f"{op} needs a list of tensors as operand {i + 1}, got ({text(types)})")
    return floating([found.item], 0, op)


def _of_list(op: str) -> Callable[[Sequence[Type], Attrs], TensorT]:
    def infer(types: Sequence[Type], attrs: Attrs) -> TensorT:
        _only(types, 1, op)
        return _items(types, 0, op)

    return infer


def _list_reduced(what: str, combine: Callable[..., Any], of_none: float) -> Callable[[Sequence[Any], Attrs], np.ndarray]:
    """The reduction of an empty list is `of_none` as a tensor without dimensions: the items' shape is not known here."""

    def evaluate(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
        (items,) = args
        if not items and attrs.get("nonempty"):
            raise ValueError(f"the {what} of an empty list has no value")
        return np.asarray(combine(np.stack(items), axis=0) if items else of_none)

    return evaluate


def _list_softmax_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    _only(types, 2, "list_softmax")
    scores, values = (_items(types, i, "list_softmax") for i in range(2))
    lead = without_trailing_ones(scores.shape)
    if lead != values.shape[: len(lead)]:
        raise ShapeError(
            f"list_softmax: scores of shape {scores.shape} are not one for each of the first dimensions of {values.shape}"
        )
    return values


def without_trailing_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    while shape and shape[-1] == 1:
        shape = shape[:-1]
    return shape


def _list_softmax(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
    """The sum of the values, weighted by the softmax of the scores; of empty lists 0, as PyTorch's product of empty tensors."""
    scores, values = args
    if len(scores) != len(values):
        raise ValueError(f"list_softmax: there are {len(scores)} scores for {len(values)} values")
    if not values:
        return np.zeros(())
    with np.errstate(invalid="ignore"):
        shares = _softmax([np.stack(scores)], {"dim": 0})
    lead = without_trailing_ones(np.shape(scores[0]))
    shares = shares.reshape(len(scores), *lead, *[1] * (np.ndim(values[0]) - len(lead)))
    return np.asarray((shares * np.stack(values)).sum(axis=0))


def _list_attention_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    _only(types, 3, "list_attention")
    query = floating(types, 0, "list_attention").shape
    keys, values = (_items(types, i, "list_attention").shape for i in (1, 2))
    if not query or query != keys or len(values) != len(keys) or values[:-1] != keys[:-1]:
        raise ShapeError(f"list_attention: a query of shape {query} does not fit keys of {keys} and values of {values}")
    if not isinstance(attrs["scale"], (int, float)):
        raise ShapeError("list_attention: the scale must be a number")
    return TensorT(values)


def _list_attention(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
    """Attention over a list, with one query for each index of the leading dimensions (heads): the sum of the values, weighted
    by softmax(scale * query . key) over the list (Vaswani et al. 2017, equation 1)."""
    query, keys, values = args
    return _list_softmax([[(query * key).sum(axis=-1, keepdims=True) * attrs["scale"] for key in keys], values], {})


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
    _only(types, 3, "lookup")
    x, table, other = (floating(types, i, "lookup") for i in range(3))
    if not other.shape or table.shape[:1] != other.shape[:1] or table.shape[1:] != x.shape:
        raise ShapeError(f"lookup needs a row of a table, the table, and another with as many rows, got {text(types)}")
    return TensorT(other.shape[1:])


def _lookup(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
    """The row of the second table at the index that `x` has in the first. Raises ValueError if `x` is no row of the first."""
    x, table, other = args
    positions = np.flatnonzero((table == x).reshape(len(table), -1).all(axis=1))
    if not len(positions):
        raise ValueError("lookup: the operand is no row of its table")
    return np.asarray(other[positions[0]])


def _scalar_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    if len(types) != 1 or not isinstance(types[0], ScalarT):
        raise ShapeError(f"scalar needs a host number, got ({text(types)})")
    return TensorT(())


def _full_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    if types or any(n < 0 for n in attrs["shape"]) or not isinstance(attrs["value"], (int, float)):
        raise ShapeError(f"full takes no operands, a shape and a number, got {attrs['shape']} and {attrs['value']!r}")
    return TensorT(tuple(attrs["shape"]))


OPS: dict[str, OpDef] = {
    d.name: d
    for d in [
        *(_elementwise(name, meaning) for name, meaning in _ELEMENTWISE.items()),
        OpDef("linear", Fusion.PRODUCT, _linear_type, lambda a, k: a[0] @ a[1].T + (a[2] if len(a) > 2 else 0.0)),
        OpDef("matmul", Fusion.PRODUCT, _matmul_type, lambda a, k: np.matmul(a[0], a[1])),
        OpDef("cat", Fusion.MOVE, _cat_type, lambda a, k: np.concatenate(a, axis=k["dim"])),
        OpDef("stack", Fusion.MOVE, _stack_type, lambda a, k: np.stack(a, axis=k["dim"])),
        OpDef("slice", Fusion.MOVE, _slice_type, lambda a, k: _at(a[0], k, slice(k["start"], k["stop"]))),
        OpDef("index", Fusion.MOVE, _index_type, lambda a, k: _at(a[0], k, k["i"])),
        OpDef("reshape", Fusion.MOVE, _reshape_type, lambda a, k: a[0].reshape(k["shape"])),
        OpDef("permute", Fusion.MOVE, _permute_type, lambda a, k: a[0].transpose(k["dims"])),
        OpDef("softmax", Fusion.REDUCTION, _along("softmax", drop=False), _softmax),
        OpDef("argmax", Fusion.REDUCTION, _along("argmax", "int64"), lambda a, k: _argmax(a[0], k)),
        OpDef("layer_norm", Fusion.REDUCTION, _layer_norm_type, _layer_norm),
        OpDef("sum", Fusion.REDUCTION, _along("sum"), lambda a, k: a[0].sum(axis=k["dim"], keepdims=bool(k.get("keepdim")))),
        OpDef("mean", Fusion.REDUCTION, _along("mean"), lambda a, k: a[0].mean(axis=k["dim"], keepdims=bool(k.get("keepdim")))),
        OpDef("max", Fusion.REDUCTION, _along("max"), lambda a, k: a[0].max(axis=k["dim"], keepdims=bool(k.get("keepdim")))),
        OpDef("list_sum", Fusion.REDUCTION, _of_list("list_sum"), _list_reduced("sum", np.sum, 0.0)),
        OpDef("list_max", Fusion.REDUCTION, _of_list("list_max"), _list_reduced("maximum", np.max, -math.inf)),
        OpDef("list_min", Fusion.REDUCTION, _of_list("list_min"), _list_reduced("minimum", np.min, math.inf)),
        OpDef("list_softmax", Fusion.REDUCTION, _list_softmax_type, _list_softmax),
        OpDef("list_attention", Fusion.REDUCTION, _list_attention_type, _list_attention),
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


def _argmax(x: np.ndarray, attrs: Attrs) -> np.ndarray:
    result = np.asarray(x.argmax(axis=attrs["dim"]), np.int64)
    return np.expand_dims(result, attrs["dim"]) if attrs.get("keepdim") else result


def infer(op: str, types: Sequence[Type], attrs: Attrs) -> TensorT:
    """The result type of a tensor operation. Raises ShapeError."""
    if op not in OPS:
        raise ShapeError(f"there is no operation {op!r}")
    try:
        return OPS[op].infer(types, attrs)
    except KeyError as missing:
        raise ShapeError(f"{op} needs the attribute {missing}") from None


def evaluate(op: str, args: Sequence[Any], attrs: Attrs, result: TensorT) -> np.ndarray:
    """The value of an operation whose result type is `result`: float64, or int64. Raises ValueError for the sum, maximum or
    minimum of an empty list that must not be empty, IndexError for a row outside its table."""
    value = np.asarray(OPS[op].evaluate(args, attrs))
    if op in LISTS:
        value = np.broadcast_to(value, result.shape)
    assert value.shape == result.shape, f"{op} gave shape {value.shape}, its rule says {result.shape}"
    return value


def is_view(op: str, types: Sequence[Type], attrs: Attrs) -> int | None:
    """The displacement of the result in the first operand's memory, in 4-byte elements; None if it is not contiguous there."""
    if op not in ("slice", "index", "reshape", "permute"):
        return None
    t = tensor(types, 0, op)
    unit = 2 if t.dtype == "int64" else 1
    if op == "reshape":
        return 0
    if op == "permute":
        moved = [d for d in attrs["dims"] if t.shape[d] != 1]
        return 0 if moved == sorted(moved) else None
    dim = attrs["dim"]
    start: int
    start, stop = (attrs["start"], attrs["stop"]) if op == "slice" else (attrs["i"], attrs["i"] + 1)
    if math.prod(t.shape[:dim]) != 1:
        return 0 if stop - start == t.shape[dim] else None
    return start * math.prod(t.shape[dim + 1 :]) * unit
