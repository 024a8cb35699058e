"""The operations of the core IR: shape rule, meaning in float64, and how each may be fused.

Element-wise operations broadcast as numpy does and also take host literals. Dimensions in attributes are non-negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from backends.acrobat.ir.nodes import NOWHERE, Atom, Op, Span
from backends.acrobat.ir.types import BOOL, FLOAT, INT, ListT, ScalarT, TensorT, TupleT, Type

Attrs = Mapping[str, Any]


class ShapeError(ValueError):
    """The operands do not fit the operation; the message says what they are."""


class Fusion(Enum):
    ELEMENTWISE = "elementwise"
    MOVE = "move"  # cat, stack, slice, ...: elements change place
    PRODUCT = "product"
    REDUCTION = "reduction"
    ADDRESS = "address"  # never a launch
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class OpDef:
    """`infer(arg types, attrs)` raises ShapeError; `evaluate(args, attrs)` works on numpy arrays of one instance (lists for `list_sum`)."""

    name: str
    fusion: Fusion
    infer: Callable[[Sequence[Type], Attrs], TensorT]
    evaluate: Callable[[Sequence[Any], Attrs], np.ndarray]


@dataclass(frozen=True, slots=True)
class HostDef:
    """An operation on host values; `evaluate` has Python's meaning."""

    name: str
    infer: Callable[[Sequence[Type]], Type]
    evaluate: Callable[..., Any]


def text(types: Sequence[Type]) -> str:
    """Types as an error message shows them."""
    return ", ".join(str(t.shape) if isinstance(t, TensorT) else getattr(t, "kind", type(t).__name__) for t in types)


def tensor(types: Sequence[Type], i: int, op: str) -> TensorT:
    if i >= len(types) or not isinstance(types[i], TensorT):
        raise ShapeError(f"{op} needs a tensor as operand {i + 1}, got ({text(types)})")
    return types[i]  # type: ignore[return-value]


def product_of(shape: Sequence[int]) -> int:
    return math.prod(shape)


# ---- element-wise


def _broadcast(op: str) -> Callable[[Sequence[Type], Attrs], TensorT]:
    def infer(types: Sequence[Type], attrs: Attrs) -> TensorT:
        shapes = [t.shape for t in types if isinstance(t, TensorT)]
        if not shapes or any(not isinstance(t, (TensorT, ScalarT)) for t in types):
            raise ShapeError(f"{op} needs tensors or numbers, got ({text(types)})")
        try:
            return TensorT(tuple(np.broadcast_shapes(*shapes)))
        except ValueError:
            raise ShapeError(f"{op}: the shapes {text(types)} do not broadcast") from None

    return infer


def _sigmoid(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-x))


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
}
_UNARY = frozenset({"neg", "sigmoid", "tanh", "relu", "gelu", "exp", "log", "sqrt"})


def _elementwise(name: str, meaning: Callable[..., np.ndarray]) -> OpDef:
    arity = 1 if name in _UNARY else 2
    broadcast = _broadcast(name)

    def infer(types: Sequence[Type], attrs: Attrs) -> TensorT:
        if len(types) != arity:
            raise ShapeError(f"{name} takes {arity} operand{'s' if arity > 1 else ''}, got {len(types)}")
        return broadcast(types, attrs)

    def evaluate(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(meaning(*args), np.float64)

    return OpDef(name, Fusion.ELEMENTWISE, infer, evaluate)


# ---- products


def _linear_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    x, w = tensor(types, 0, "linear"), tensor(types, 1, "linear")
    if len(w.shape) != 2 or not x.shape or x.shape[-1] != w.shape[1]:
        raise ShapeError(f"linear: an input of shape {x.shape} does not fit a weight of shape {w.shape} (out, in)")
    if len(types) > 2 and tensor(types, 2, "linear").shape != (w.shape[0],):
        raise ShapeError(f"linear: a bias of shape {tensor(types, 2, 'linear').shape} does not fit a weight of shape {w.shape}")
    return TensorT((*x.shape[:-1], w.shape[0]))


def _matmul_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    a, b = tensor(types, 0, "matmul").shape, tensor(types, 1, "matmul").shape
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


def _cat_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    shapes = [tensor(types, i, "cat").shape for i in range(len(types))]
    dim = attrs["dim"]
    if not shapes or dim >= len(shapes[0]):
        raise ShapeError(f"cat: there is no dimension {dim} in shapes {text(types)}")
    rest = {s[:dim] + s[dim + 1 :] for s in shapes}
    if len(rest) != 1 or len({len(s) for s in shapes}) != 1:
        raise ShapeError(f"cat along dimension {dim}: the shapes {text(types)} differ elsewhere")
    first = shapes[0]
    return TensorT((*first[:dim], sum(s[dim] for s in shapes), *first[dim + 1 :]))


def _stack_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    shapes = {tensor(types, i, "stack").shape for i in range(len(types))}
    if len(shapes) != 1:
        raise ShapeError(f"stack: the shapes {text(types)} differ")
    shape = shapes.pop()
    dim = attrs["dim"]
    if dim > len(shape):
        raise ShapeError(f"stack: there is no dimension {dim}")
    return TensorT((*shape[:dim], len(types), *shape[dim:]))


def _slice_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    shape, dim = tensor(types, 0, "slice").shape, attrs["dim"]
    start, stop = attrs["start"], attrs["stop"]
    if dim >= len(shape) or not 0 <= start <= stop <= shape[dim]:
        raise ShapeError(f"slice {start}:{stop} of dimension {dim} does not lie in shape {shape}")
    return TensorT((*shape[:dim], stop - start, *shape[dim + 1 :]), tensor(types, 0, "slice").dtype)


def _index_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    shape, dim, i = tensor(types, 0, "index").shape, attrs["dim"], attrs["i"]
    if dim >= len(shape) or not 0 <= i < shape[dim]:
        raise ShapeError(f"index {i} of dimension {dim} does not lie in shape {shape}")
    return TensorT((*shape[:dim], *shape[dim + 1 :]), tensor(types, 0, "index").dtype)


def _reshape_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    t, shape = tensor(types, 0, "reshape"), tuple(attrs["shape"])
    if product_of(shape) != t.size or any(n < 0 for n in shape):
        raise ShapeError(f"reshape: {t.shape} has {t.size} elements, {shape} has {product_of(shape)}")
    return TensorT(shape, t.dtype)


def _permute_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    t, dims = tensor(types, 0, "permute"), tuple(attrs["dims"])
    if sorted(dims) != list(range(len(t.shape))):
        raise ShapeError(f"permute: {dims} is no permutation of the dimensions of {t.shape}")
    return TensorT(tuple(t.shape[d] for d in dims), t.dtype)


def _at(x: np.ndarray, attrs: Attrs, what: slice | int) -> np.ndarray:
    key: list[slice | int] = [slice(None)] * x.ndim
    key[attrs["dim"]] = what
    return x[tuple(key)]


# ---- reductions


def _along(op: str, dtype: str = "float32", drop: bool = True) -> Callable[[Sequence[Type], Attrs], TensorT]:
    def infer(types: Sequence[Type], attrs: Attrs) -> TensorT:
        shape, dim = tensor(types, 0, op).shape, attrs["dim"]
        if dim >= len(shape) or (shape[dim] == 0 and op not in ("sum",)):
            raise ShapeError(f"{op}: there is nothing along dimension {dim} of shape {shape}")
        if not drop:
            return TensorT(shape, dtype)  # type: ignore[arg-type]
        kept = (1,) if attrs.get("keepdim") else ()
        return TensorT((*shape[:dim], *kept, *shape[dim + 1 :]), dtype)  # type: ignore[arg-type]

    return infer


def _softmax(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
    (x,) = args
    e = np.exp(x - x.max(axis=attrs["dim"], keepdims=True))
    return e / e.sum(axis=attrs["dim"], keepdims=True)


def _layer_norm_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    x = tensor(types, 0, "layer_norm")
    if len(types) != 3 or not x.shape or any(tensor(types, i, "layer_norm").shape != x.shape[-1:] for i in (1, 2)):
        raise ShapeError(f"layer_norm: weight and bias must have the length of the last dimension, got {text(types)}")
    return TensorT(x.shape)


def _layer_norm(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
    x, w, b = args
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + attrs["eps"]) * w + b


def _list_sum_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    if len(types) != 1 or not isinstance(types[0], ListT) or not isinstance(types[0].item, TensorT):
        raise ShapeError(f"list_sum needs a list of tensors, got ({text(types)})")
    return types[0].item


def list_sum(items: Sequence[np.ndarray], type: TensorT, nonempty: bool) -> np.ndarray:
    """The sum of a list of tensors of `type`. Raises ValueError for an empty one that must not be."""
    if nonempty and not len(items):
        raise ValueError("the sum of an empty list has no value")
    return np.sum(np.asarray(items, np.float64).reshape(len(items), *type.shape), axis=0)


def _evaluate_list_sum(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
    (items,) = args
    if not len(items):
        raise ValueError("the sum of an empty list has no value" if attrs.get("nonempty") else "use ops.list_sum for an empty list")
    return np.sum(np.stack(items), axis=0)


# ---- addresses and constants


def _row_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    table = tensor(types, 0, "row")
    if not table.shape or len(types) != 2 or types[1] != INT:
        raise ShapeError(f"row needs a table and an int, got ({text(types)})")
    return TensorT(table.shape[1:])


def _row(args: Sequence[Any], attrs: Attrs) -> np.ndarray:
    table, i = args
    if not -len(table) <= i < len(table):
        raise IndexError(f"index {i} is out of range: the table has {len(table)} rows")
    return table[i]


def _scalar_type(types: Sequence[Type], attrs: Attrs) -> TensorT:
    if len(types) != 1 or not isinstance(types[0], ScalarT):
        raise ShapeError(f"scalar needs a host number, got ({text(types)})")
    return TensorT(())


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
        OpDef("list_sum", Fusion.REDUCTION, _list_sum_type, _evaluate_list_sum),
        OpDef("row", Fusion.ADDRESS, _row_type, _row),
        OpDef("scalar", Fusion.ADDRESS, _scalar_type, lambda a, k: np.asarray(float(a[0]))),
        OpDef("full", Fusion.CONSTANT, lambda t, k: TensorT(tuple(k["shape"])), lambda a, k: np.full(k["shape"], float(k["value"]))),
    ]
}


def _argmax(x: np.ndarray, attrs: Attrs) -> np.ndarray:
    result = np.asarray(x.argmax(axis=attrs["dim"]), np.int64)
    return np.expand_dims(result, attrs["dim"]) if attrs.get("keepdim") else result


def infer(op: str, types: Sequence[Type], attrs: Attrs) -> TensorT:
    """The result type of a tensor operation. Raises ShapeError."""
    return OPS[op].infer(types, attrs)


def make_op(op: str, args: Sequence[Atom], attrs: Attrs | None = None, span: Span = NOWHERE) -> Op:
    """The node, with its type inferred and its attributes in canonical order. Raises ShapeError."""
    attrs = attrs or {}
    canonical = tuple(sorted((k, tuple(v) if isinstance(v, list) else v) for k, v in attrs.items()))
    return Op(op, tuple(args), canonical, infer(op, [a.type for a in args], attrs), span=span)


def is_view(op: str, types: Sequence[Type], attrs: Attrs) -> int | None:
    """If the result lies contiguously inside the first operand's memory: its displacement in 4-byte elements. Otherwise None."""
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
    if product_of(t.shape[:dim]) != 1:
        whole = op == "slice" and attrs["start"] == 0 and attrs["stop"] == t.shape[dim]
        return 0 if whole else None
    return (attrs["start"] if op == "slice" else attrs["i"]) * product_of(t.shape[dim + 1 :]) * unit


# ---- host


def _number(types: Sequence[Type]) -> Type:
    return FLOAT if FLOAT in types else INT


def _item(types: Sequence[Type]) -> Type:
    assert isinstance(types[0], ListT)
    return types[0].item


def _zip_type(types: Sequence[Type]) -> Type:
    return ListT(TupleT(tuple(t.item for t in types if isinstance(t, ListT))))


HOST: dict[str, HostDef] = {
    d.name: d
    for d in [
        HostDef("add", _number, lambda a, b: a + b),
        HostDef("sub", _number, lambda a, b: a - b),
        HostDef("mul", _number, lambda a, b: a * b),
        HostDef("div", lambda t: FLOAT, lambda a, b: a / b),
        HostDef("floordiv", _number, lambda a, b: a // b),
        HostDef("mod", _number, lambda a, b: a % b),
        HostDef("neg", _number, lambda a: -a),
        HostDef("abs", _number, abs),
        HostDef("min", _number, min),
        HostDef("max", _number, max),
        HostDef("bitand", lambda t: INT, lambda a, b: a & b),
        HostDef("bitor", lambda t: INT, lambda a, b: a | b),
        HostDef("bitxor", lambda t: INT, lambda a, b: a ^ b),
        HostDef("shl", lambda t: INT, lambda a, b: a << b),
        HostDef("shr", lambda t: INT, lambda a, b: a >> b),
        HostDef("eq", lambda t: BOOL, lambda a, b: a == b),
        HostDef("ne", lambda t: BOOL, lambda a, b: a != b),
        HostDef("lt", lambda t: BOOL, lambda a, b: a < b),
        HostDef("le", lambda t: BOOL, lambda a, b: a <= b),
        HostDef("gt", lambda t: BOOL, lambda a, b: a > b),
        HostDef("ge", lambda t: BOOL, lambda a, b: a >= b),
        HostDef("not", lambda t: BOOL, lambda a: not a),
        HostDef("int", lambda t: INT, int),
        HostDef("float", lambda t: FLOAT, float),
        HostDef("bool", lambda t: BOOL, bool),
        HostDef("list.len", lambda t: INT, len),
        HostDef("list.get", _item, lambda xs, i: xs[i]),
        HostDef("list.slice", lambda t: t[0], lambda xs, start, stop: xs[start:stop]),
        HostDef("list.reverse", lambda t: t[0], lambda xs: xs[::-1]),
        HostDef("list.concat", lambda t: t[0], lambda xs, ys: [*xs, *ys]),
        HostDef("list.append", lambda t: t[0], lambda xs, x: [*xs, x]),
        HostDef("range", lambda t: ListT(INT), lambda start, stop, step: list(range(start, stop, step))),
        HostDef("zip", _zip_type, lambda *lists: list(zip(*lists, strict=False))),
        HostDef("enumerate", lambda t: ListT(TupleT((INT, _item(t)))), lambda xs: list(enumerate(xs))),
    ]
}


def infer_host(op: str, types: Sequence[Type]) -> Type:
    """The result type of a host operation."""
    return HOST[op].infer(types)
