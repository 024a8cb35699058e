"""Tensor operations as the source writes them: torch functions, methods and operators, each turned into operations of the
IR."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as functional

from backends.acrobat.frontend.values import Dyn, Method, Module, Static, TupleV, Value, is_unknown, unknown
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.ops import ShapeError, make_op
from backends.acrobat.ir.types import INT, ListT, ScalarT, TensorT

if TYPE_CHECKING:
    from backends.acrobat.frontend.frame import Frame

UNARY = ("sigmoid", "tanh", "relu", "exp", "log", "sqrt", "neg")
BINARY = {"add": "add", "sub": "sub", "subtract": "sub", "mul": "mul", "multiply": "mul", "div": "div", "divide": "div"}
BINARY |= {"true_divide": "div", "maximum": "maximum", "minimum": "minimum"}


class Refused(Exception):
    """The call is outside the language; carries message and advice."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message, self.advice = message, advice


class Call:
    """The arguments of one call, bound by position or name as the caller wrote them."""

    def __init__(self, name: str, args: Sequence[Value], kwargs: dict[str, Value]) -> None:
        self.name, self.args, self.kwargs = name, list(args), dict(kwargs)

    def bind(self, *names: str, **defaults: Any) -> list[Any]:
        """Values for `names` in order; `defaults` are Python values for those not given. Raises Refused."""
        if len(self.args) > len(names):
            raise Refused(f"`{self.name}` takes at most {len(names)} arguments here, got {len(self.args)}")
        bound = dict(zip(names, self.args, strict=False))
        for key, value in self.kwargs.items():
            if key not in names:
                raise Refused(f"`{self.name}` has no argument `{key}` here")
            bound[key] = value
        out = []
        for name in names:
            if name in bound:
                out.append(bound[name])
            elif name in defaults:
                out.append(defaults[name])
            else:
                raise Refused(f"`{self.name}` misses its argument `{name}`")
        return out


def constant(value: Any, what: str) -> Any:
    """The compile-time value of an argument that must have one. Raises Refused."""
    match value:
        case Dyn(n.Lit(v)):
            return v
        case Static(v):
            return v
        case TupleV(items):
            return tuple(constant(v, what) for v in items)
        case Dyn() | Module() | Method():
            raise Refused(f"{what} must be known at compile time", "use a literal or an int attribute of the module")
    return value


def shape_of(x: Dyn) -> tuple[int, ...]:
    assert isinstance(x.type, TensorT)
    return x.type.shape


def dim_of(value: Any, rank: int, name: str, extra: int = 0) -> int:
    d = constant(value, f"the dimension of `{name}`")
    if isinstance(d, tuple) and len(d) == 1:
        d = d[0]
    if not isinstance(d, int) or not -rank - extra <= d < rank + extra:
        raise Refused(f"`{name}`: there is no dimension {d} in a tensor of rank {rank}")
    return d + rank + extra if d < 0 else d


def is_tensor(value: Any) -> bool:
    return isinstance(value, Dyn) and isinstance(value.type, TensorT)


class Tensors:
    """Emits operations into the frame's current builder. `names` are the functions of `torch` and the methods of tensors."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    # ---- emitting

    def op(self, name: str, args: Sequence[Any], attrs: dict[str, Any] | None = None, hint: str = "") -> Dyn:
        """One operation; host scalars among the operands of element-wise ones become literals or one-element tensors."""
        if any(is_unknown(a) for a in args if isinstance(a, Dyn)):
            return unknown()
        atoms = [self.operand(a) for a in args]
        try:
            return self.frame.bind(make_op(name, atoms, attrs, self.frame.span), hint or name)
        except ShapeError as error:
            raise Refused(str(error)) from error

    def operand(self, a: Any) -> n.Atom:
        match a:
            case Dyn(n.Lit(v, ScalarT("bool"))):
                return n.Lit(int(v), INT)
            case Dyn(atom) if isinstance(atom.type, ScalarT) and not isinstance(atom, n.Lit):
                return self.frame.bind(make_op("scalar", [atom], {}, self.frame.span), "scalar").atom
            case Dyn(atom):
                return atom
            case Static(int() | float()):
                return self.frame.atom(a)
        raise Refused("expected a tensor or a number")

    def binary(self, op: str, a: Any, b: Any) -> Dyn:
        return self.op(op, [a, b])

    # ---- calls

    def call(self, name: str, call: Call) -> Value:
        """`torch.<name>(...)` or `<tensor>.<name>(...)` with the tensor as first argument. Raises Refused."""
        if name in UNARY or name in ("negative", "gelu", "rsqrt"):
            return self._unary(name, call)
        if name in BINARY:
            a, b = call.bind("input", "other")
            return self.binary(BINARY[name], a, b)
        handler: Callable[[Call], Value] | None = getattr(self, f"_{name}", None)
        if handler is None:
            raise Refused(f"`{name}` is not an operation of the language", "LANGUAGE.md lists the operations")
        return handler(call)

    def _unary(self, name: str, call: Call) -> Dyn:
        if name == "gelu":
            x, approximate = call.bind("input", "approximate", approximate=Static("none"))
            if constant(approximate, "approximate") != "none":
                raise Refused("only the exact gelu is an operation of the language")
            return self.op("gelu", [x])
        (x,) = call.bind("input")
        return self.op({"negative": "neg"}.get(name, name), [x])

    def _matmul(self, call: Call) -> Dyn:
        return self.op("matmul", call.bind("input", "other"))

    _mm = _bmm = _mv = _matmul

    def _dot(self, call: Call) -> Dyn:
        return self._matmul(call)

    def _linear(self, call: Call) -> Dyn:
        x, w, b = call.bind("input", "weight", "bias", bias=Static(None))
        return self.op("linear", [x, w] if b == Static(None) else [x, w, b])

    def _list(self, value: Any, name: str) -> list[Any]:
        """A display of tensors, known at compile time."""
        if isinstance(value, TupleV):
            return list(value.items)
        if isinstance(value, Dyn) and isinstance(value.type, ListT):
            items = self.frame.display(value)
            if items is not None:
                return items
            raise Refused(
                f"`{name}` of a list whose length is only known at run time",
                "only sums over such lists are operations of the language",
            )
        raise Refused(f"`{name}` takes a tuple or list of tensors")

    def _cat(self, call: Call) -> Dyn:
        xs, dim = call.bind("tensors", "dim", dim=Static(0))
        items = self._list(xs, "cat")
        if any(is_unknown(x) for x in items):
            return unknown()
        return self.op("cat", items, {"dim": dim_of(dim, len(shape_of(items[0])), "cat")})

    _concat = _concatenate = _cat

    def _stack(self, call: Call) -> Dyn:
        xs, dim = call.bind("tensors", "dim", dim=Static(0))
        items = self._list(xs, "stack")
        if any(is_unknown(x) for x in items):
            return unknown()
        return self.op("stack", items, {"dim": dim_of(dim, len(shape_of(items[0])), "stack", extra=1)})

    def _chunk(self, call: Call) -> Value:
        x, chunks, dim = call.bind("input", "chunks", "dim", dim=Static(0))
        if is_unknown(x):
            return TupleV((unknown(),) * constant(chunks, "the number of chunks"))
        d = dim_of(dim, len(shape_of(x)), "chunk")
        extent = shape_of(x)[d]
        size = -(-extent // constant(chunks, "the number of chunks"))
        return self._pieces(x, d, [min(size, extent - at) for at in range(0, extent, size)])

    def _split(self, call: Call) -> Value:
        x, sizes, dim = call.bind("input", "split_size_or_sections", "dim", dim=Static(0))
        if is_unknown(x):
            return unknown()
        d = dim_of(dim, len(shape_of(x)), "split")
        extent = shape_of(x)[d]
        wanted = constant(self.frame.static_list(sizes), "the split sizes")
        if isinstance(wanted, int):
            wanted = [min(wanted, extent - at) for at in range(0, extent, wanted)]
        return self._pieces(x, d, list(wanted))

    def _pieces(self, x: Dyn, dim: int, sizes: list[int]) -> TupleV:
        out, at = [], 0
        for size in sizes:
            out.append(self.op("slice", [x], {"dim": dim, "start": at, "stop": at + size}))
            at += size
        return TupleV(tuple(out))

    def _unbind(self, call: Call) -> Value:
        x, dim = call.bind("input", "dim", dim=Static(0))
        d = dim_of(dim, len(shape_of(x)), "unbind")
        return TupleV(tuple(self.op("index", [x], {"dim": d, "i": i}) for i in range(shape_of(x)[d])))

    def _select(self, call: Call) -> Dyn:
        x, dim, index = call.bind("input", "dim", "index")
        d = dim_of(dim, len(shape_of(x)), "select")
        i = constant(index, "the index of `select`")
        return self.op("index", [x], {"dim": d, "i": i + shape_of(x)[d] if i < 0 else i})

    def _narrow(self, call: Call) -> Dyn:
        x, dim, start, length = call.bind("input", "dim", "start", "length")
        d, at = dim_of(dim, len(shape_of(x)), "narrow"), constant(start, "start")
        return self.op("slice", [x], {"dim": d, "start": at, "stop": at + constant(length, "length")})

    # ---- shapes

    def _reshape(self, call: Call) -> Dyn:
        x, *extent = [*call.args, *call.kwargs.values()]
        if is_unknown(x) or not isinstance(x, Dyn):
            return unknown()
        wanted = [constant(e, "the shape") for e in self.frame.spread(extent)]
        known = math.prod([int(e) for e in wanted if e != -1])
        total = math.prod(shape_of(x))
        shape = tuple(total // known if e == -1 and known else e for e in wanted)
        return self.op("reshape", [x], {"shape": shape})

    _view = _reshape

    def _flatten(self, call: Call) -> Dyn:
        x, start, end = call.bind("input", "start_dim", "end_dim", start_dim=Static(0), end_dim=Static(-1))
        shape = shape_of(x)
        s, e = dim_of(start, len(shape), "flatten"), dim_of(end, len(shape), "flatten")
        return self.op("reshape", [x], {"shape": (*shape[:s], math.prod(shape[s : e + 1]), *shape[e + 1 :])})

    def _unsqueeze(self, call: Call) -> Dyn:
        x, dim = call.bind("input", "dim")
        d = dim_of(dim, len(shape_of(x)), "unsqueeze", extra=1)
        shape = shape_of(x)
        return self.op("reshape", [x], {"shape": (*shape[:d], 1, *shape[d:])})

    def _squeeze(self, call: Call) -> Dyn:
        x, dim = call.bind("input", "dim", dim=None)
        shape = shape_of(x)
        if dim is None:
            return self.op("reshape", [x], {"shape": tuple(e for e in shape if e != 1)})
        d = dim_of(dim, len(shape), "squeeze")
        return self.op("reshape", [x], {"shape": shape[:d] + shape[d + 1 :]}) if shape[d] == 1 else x

    def _transpose(self, call: Call) -> Dyn:
        x, a, b = call.bind("input", "dim0", "dim1")
        if is_unknown(x):
            return unknown()
        rank = len(shape_of(x))
        i, j = dim_of(a, rank, "transpose"), dim_of(b, rank, "transpose")
        dims = list(range(rank))
        dims[i], dims[j] = dims[j], dims[i]
        return self.op("permute", [x], {"dims": tuple(dims)})

    def _t(self, call: Call) -> Dyn:
        (x,) = call.bind("input")
        if is_unknown(x):
            return unknown()
        return self.op("permute", [x], {"dims": tuple(reversed(range(len(shape_of(x)))))})

    def _permute(self, call: Call) -> Dyn:
        x, *dims = call.args
        if is_unknown(x) or not isinstance(x, Dyn):
            return unknown()
        items = self.frame.spread(dims)
        rank = len(shape_of(x))
        return self.op("permute", [x], {"dims": tuple(dim_of(d, rank, "permute") for d in items)})

    def _contiguous(self, call: Call) -> Dyn:
        return call.args[0]  # type: ignore[return-value]

    _clone = _detach = _contiguous

    # ---- reductions

    def _along(self, op: str, call: Call) -> Dyn:
        x, dim, keepdim = call.bind("input", "dim", "keepdim", dim=None, keepdim=Static(False))
        if is_unknown(x):
            return unknown()
        keep = bool(constant(keepdim, "keepdim"))
        if dim is None or dim == Static(None):
            x = self.op("reshape", [x], {"shape": (math.prod(shape_of(x)),)})
            return self.op(op, [x], {"dim": 0, "keepdim": False})
        return self.op(op, [x], {"dim": dim_of(dim, len(shape_of(x)), op), "keepdim": keep})

    def _sum(self, call: Call) -> Value:
        return self._along("sum", call)

    def _mean(self, call: Call) -> Dyn:
        return self._along("mean", call)

    def _argmax(self, call: Call) -> Dyn:
        return self._along("argmax", call)

    def _amax(self, call: Call) -> Dyn:
        return self._along("max", call)

    def _max(self, call: Call) -> Value:
        if len(call.args) == 2 and is_tensor(call.args[1]):
            return self.binary("maximum", *call.args)
        if len(call.args) == 1 and not call.kwargs:
            return self._along("max", call)
        if is_unknown(call.args[0]):
            return unknown()
        return TupleV((self._along("max", call), self._along("argmax", call)))

    def _softmax(self, call: Call) -> Dyn:
        x, dim, _ = call.bind("input", "dim", "dtype", dtype=None)
        if is_unknown(x):
            return unknown()
        return self.op("softmax", [x], {"dim": dim_of(dim, len(shape_of(x)), "softmax")})

    def _layer_norm(self, call: Call) -> Dyn:
        x, shape, w, b, eps = call.bind(
            "input", "normalized_shape", "weight", "bias", "eps", weight=None, bias=None, eps=Static(1e-5)
        )
        if w is None or b is None:
            raise Refused("`layer_norm` needs a weight and a bias here")
        if len(constant(self.frame.static_list(shape), "the normalised shape")) != 1:
            raise Refused("`layer_norm` over more than the last dimension is not an operation of the language")
        return self.op("layer_norm", [x, w, b], {"eps": float(constant(eps, "eps"))})

    # ---- constants

    def _full_of(self, shape: Any, value: float) -> Dyn:
        extent = constant(shape, "the shape")
        return self.op(
            "full", [], {"shape": (extent,) if isinstance(extent, int) else tuple(extent), "value": value}, "constant"
        )

    def _filled(self, call: Call, value: float) -> Dyn:
        call.kwargs.pop("dtype", None)
        call.kwargs.pop("device", None)
        if len(call.args) == 1:
            return self._full_of(self.frame.static_list(call.args[0]), value)
        return self._full_of(TupleV(tuple(call.args)), value)

    def _zeros(self, call: Call) -> Dyn:
        return self._filled(call, 0.0)

    def _ones(self, call: Call) -> Dyn:
        return self._filled(call, 1.0)

    def _full(self, call: Call) -> Dyn:
        shape, value, *_ = call.bind("size", "fill_value", "dtype", "device", dtype=None, device=None)
        return self._full_of(self.frame.static_list(shape), float(constant(value, "the value")))

    def _zeros_like(self, call: Call) -> Dyn:
        x = call.args[0]
        return unknown() if is_unknown(x) else self._full_of(shape_of(x), 0.0)  # type: ignore[arg-type]

    def _ones_like(self, call: Call) -> Dyn:
        x = call.args[0]
        return unknown() if is_unknown(x) else self._full_of(shape_of(x), 1.0)  # type: ignore[arg-type]

    # ---- reading values

    def item(self, x: Dyn, kind: str = "float") -> Dyn:
        """`x.item()`: the instance waits."""
        if is_unknown(x):
            return unknown()
        assert isinstance(x.type, TensorT)
        if x.type.size != 1:
            raise Refused(f"only a tensor of one element has a value to read; this one has shape {x.type.shape}")
        return self.frame.bind(
            n.Item(x.atom, ScalarT("int" if x.type.dtype == "int64" else "float"), span=self.frame.span), kind
        )

    def _item(self, call: Call) -> Dyn:
        (x,) = call.bind("input")
        return self.item(x, "value")

    def _size(self, call: Call) -> Value:
        x, dim = call.bind("input", "dim", dim=None)
        shape = shape_of(x)
        return Static(shape) if dim is None else Static(shape[dim_of(dim, len(shape), "size")])

    def _dim(self, call: Call) -> Value:
        return Static(len(shape_of(call.args[0])))  # type: ignore[arg-type]


def torch_name(function: Any) -> str | None:
    """The name under which `Tensors.call` knows a function object of torch, or None."""
    for module in (torch, functional, torch.Tensor):
        name = str(getattr(function, "__name__", ""))
        if name and getattr(module, name, None) is function:
            return name
    return None
