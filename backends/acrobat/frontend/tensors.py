"""Tensor operations as the source writes them: torch functions, methods and operators, each turned into operations of the
IR."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as functional

from backends.acrobat.core.ops import OPS, Fusion, ShapeError
from backends.acrobat.core.types import BOOL, INT, ListT, ScalarT, TensorT
from backends.acrobat.frontend.values import (
    Dyn,
    Held,
    HostTensor,
    Method,
    Module,
    Static,
    TupleV,
    Value,
    describe,
    is_list,
    is_number,
    is_ragged,
    is_tensor,
    is_unknown,
    nothing_known,
    type_or_none,
    unknown,
)
from backends.acrobat.ir import nodes as n
from backends.acrobat.ir.make import make_op

if TYPE_CHECKING:
    from backends.acrobat.frontend.frame import Frame

UNARY = {name: name for name in ("sigmoid", "tanh", "relu", "exp", "log", "sqrt", "neg")} | {"negative": "neg"}
BINARY = {"add": "add", "sub": "sub", "subtract": "sub", "mul": "mul", "multiply": "mul", "div": "div", "divide": "div"}
BINARY |= {"true_divide": "div", "maximum": "maximum", "minimum": "minimum"}
MAKERS = ("cat", "concat", "concatenate", "stack", "zeros", "ones", "full", "arange")
"""Functions whose first argument is no tensor."""


class Refused(Exception):
    """The call is outside the language; carries message and advice."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message, self.advice = message, advice


class Call:
    """The arguments of one call, bound by position or name as the caller wrote them."""

    def __init__(self, name: str, args: Sequence[Value], kwargs: dict[str, Value], implicit: int = 0) -> None:
        self.name, self.args, self.kwargs = name, list(args), dict(kwargs)
        self.implicit = implicit  # how many of `args` the caller did not write: `self`

    def bind(self, *names: str, **defaults: Any) -> list[Any]:
        """Values for `names` in order; `defaults` are Python values for those not given. Raises Refused."""
        if len(self.args) > len(names):
            most, got = len(names) - self.implicit, len(self.args) - self.implicit
            raise Refused(f"`{self.name}` takes at most {most} argument{'s' if most != 1 else ''} here, got {got}")
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


def _is_constant(value: Any) -> bool:
    return isinstance(value, Static) or isinstance(value, Dyn) and isinstance(value.atom, n.Lit)


class Tensors:
    """Emits operations into the frame's current builder. `names` are the functions of `torch` and the methods of tensors."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    # ---- emitting

    def op(self, name: str, args: Sequence[Any], attrs: dict[str, Any] | None = None, hint: str = "") -> Dyn:
        """One operation; host scalars among the operands of element-wise ones become literals or one-element tensors."""
        if any(is_unknown(a) for a in args if isinstance(a, Dyn)):
            return unknown()
        if any(is_ragged(a) for a in args):
            if OPS[name].fusion is not Fusion.ELEMENTWISE:
                raise Refused(f"`{name}` of a tensor whose extent varies between instances is not in the language here")
            return ragged.elementwise(self.frame, args, lambda parts: self.op(name, parts, attrs, hint))  # type: ignore[return-value]
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
            case Static(int() | float()) | HostTensor():
                return self.frame.atom(a)
        raise Refused("expected a tensor or a number")

    def binary(self, op: str, a: Any, b: Any) -> Dyn:
        return self.op(op, [a, b])

    def in_place(self, x: Value, make: Callable[[Dyn], Value]) -> Value:
        """`x` changed in place to what `make` gives, under all its names. Raises Refused where these cannot all be known."""
        if is_unknown(x) or not is_tensor(x):
            return unknown()
        builder = self.frame.builder
        before = self.frame.atom(x)
        if not isinstance(before, n.Var) or before.name not in builder.fresh:
            raise Refused(
                "this changes a tensor in place that may be seen elsewhere: it was not made here, or is part of another value",
                "leave `inplace=True`, or the `_` of a method, out: the result is a new tensor then",
            )
        after = make(Dyn(before))
        if not isinstance(after, Dyn) or not isinstance(after.atom, n.Var) or after.type != before.type:
            raise Refused("a tensor that is changed in place keeps its shape and type", "assign the result to a name instead")
        builder.change(before, after.atom)
        return after

    # ---- calls

    def call(self, name: str, call: Call) -> Value:
        """`torch.<name>(...)` or `<tensor>.<name>(...)` with the tensor as first argument. Raises Refused."""
        if name.endswith("_") and (name[:-1] in UNARY or name[:-1] in BINARY) and call.args:
            rest = call.args[1:]
            return self.in_place(
                call.args[0], lambda x: self.call(name[:-1], Call(name, [x, *rest], call.kwargs, call.implicit))
            )
        handler: Callable[[Call], Value] | None = getattr(self, f"do_{name}", None)
        if handler is None and name not in UNARY and name not in BINARY and name not in ("amin", "tolist"):
            raise Refused(f"`{name}` is not an operation of the language", "LANGUAGE.md lists the operations")
        if any(nothing_known(v) for v in (*call.args, *call.kwargs.values())):
            return unknown()
        if any(is_ragged(v) for v in (*call.args, *call.kwargs.values())):
            if "input" in call.kwargs and not call.args:
                call.args, call.kwargs = [call.kwargs.pop("input")], call.kwargs
            found = ragged.call(self.frame, name, call)
            if found is not None:
                return found
            if name not in MAKERS and not name.startswith("new_"):
                raise Refused(f"`{name}` of a tensor whose extent varies between instances is not in the language")
        elif name not in MAKERS:
            self._tensor_first(call)
        if name in UNARY:
            (x,) = call.bind("input")
            return self.op(UNARY[name], [x])
        if handler is not None:
            return handler(call)
        a, b = call.bind("input", "other")
        return self.binary(BINARY[name], a, b)

    def do_repeat(self, call: Call) -> Value:
        return ragged.repeat(self.frame, call.args[0], self.frame.spread([*call.args[1:], *call.kwargs.values()]), False)

    def do_expand(self, call: Call) -> Value:
        return ragged.repeat(self.frame, call.args[0], self.frame.spread([*call.args[1:], *call.kwargs.values()]), True)

    def do_tolist(self, call: Call) -> Value:
        (x,) = call.bind("input")
        shape = shape_of(x)
        if len(shape) != 1:
            raise Refused("`tolist` takes a tensor of one dimension here")
        items = [self.item(self.op("index", [x], {"dim": 0, "i": i})) for i in range(shape[0])]
        return self.frame.written_out(items)

    def do_masked_fill(self, call: Call) -> Value:
        """`x.masked_fill(mask, value)` with a mask of bools that the program has, one for each part along a dimension."""
        x, mask, value = call.bind("input", "mask", "value")
        if not is_ragged(mask) or mask.type.item != BOOL:
            raise Refused("`masked_fill` takes a mask of bools made by the model here")
        number = float(constant(value, "the value"))
        parts = ragged.as_rows(self.frame, x, len(ragged.shape(x)) - 1)

        def kept(part: Value, masked: Value) -> Value:
            return self.frame.chosen(masked, lambda: self._full_of(Static(ragged.shape(part)), number), lambda: part)

        return ragged.of_rows(ragged.mapped(self.frame, [parts, mask], kept), len(ragged.shape(x)) - 1)

    def do_amin(self, call: Call) -> Dyn:
        x, *rest = call.args
        return self.op("neg", [self._along("max", Call("amin", [self.op("neg", [x]), *rest], call.kwargs))])

    def functional_relu(self, call: Call) -> Value:
        """`torch.nn.functional.relu`, which can also change its operand."""
        x, inplace = call.bind("input", "inplace", inplace=Static(False))
        if constant(inplace, "inplace"):
            return self.in_place(x, lambda x: self.op("relu", [x]))
        return self.call("relu", Call("relu", [x], {}))

    def _tensor_first(self, call: Call) -> None:
        first = call.args[0] if call.args else call.kwargs.get("input", call.kwargs.get("self"))
        if isinstance(first, HostTensor):
            raise Refused(first.refusal)
        if not is_tensor(first) and not is_ragged(first):
            t = None if first is None else type_or_none(first)
            raise Refused(f"`{call.name}` takes a tensor" + (f", not {describe(t)}" if t is not None else ""))

    def do_gelu(self, call: Call) -> Dyn:
        x, approximate = call.bind("input", "approximate", approximate=Static("none"))
        if constant(approximate, "approximate") != "none":
            raise Refused("only the exact gelu is an operation of the language")
        return self.op("gelu", [x])

    def do_rsqrt(self, call: Call) -> Dyn:
        (x,) = call.bind("input")
        return self.op("div", [Static(1.0), self.op("sqrt", [x])])

    def do_square(self, call: Call) -> Dyn:
        (x,) = call.bind("input")
        return self.op("mul", [x, x])

    def do_matmul(self, call: Call) -> Dyn:
        return self.op("matmul", call.bind("input", "other"))

    do_mm = do_bmm = do_mv = do_matmul

    def do_dot(self, call: Call) -> Dyn:
        return self.do_matmul(call)

    def do_linear(self, call: Call) -> Dyn:
        x, w, b = call.bind("input", "weight", "bias", bias=Static(None))
        return self.op("linear", [x, w] if b == Static(None) else [x, w, b])

    def _list(self, value: Any, name: str) -> list[Any]:
        """The tensors of a tuple or list whose length is known at compile time."""
        parts = self.frame.components(value) if not isinstance(value, TupleV) else list(value.items)
        items = parts or self.frame.display(value)
        if not items and isinstance(type_or_none(value), ListT) and not is_unknown(value):
            raise Refused(
                f"`{name}` of a list whose length is known at run time only",
                "sum such a list, or take a list whose elements are written out",
            )
        if not items or not all(is_tensor(v) or is_ragged(v) or is_unknown(v) for v in items):
            raise Refused(f"`{name}` takes a tuple or list of tensors")
        return items

    def _running(self, xs: Any) -> bool:
        """Whether a list's length is known at run time only, and its items are."""
        return is_list(xs) and self.frame.display(xs) is None and not is_unknown(xs)

    def do_cat(self, call: Call) -> Dyn:
        xs, dim = call.bind("tensors", "dim", dim=Static(0))
        if is_unknown(xs):
            return unknown()
        if self._running(xs):
            return ragged.joined(self.frame, xs, dim)  # type: ignore[return-value]
        items = self._list(xs, "cat")
        if any(is_unknown(x) for x in items):
            return unknown()
        if any(is_ragged(x) for x in items):
            return ragged.cat(self.frame, items, dim_of(dim, len(ragged.shape(items[0])), "cat"))  # type: ignore[return-value]
        return self.op("cat", items, {"dim": dim_of(dim, len(shape_of(items[0])), "cat")})

    do_concat = do_concatenate = do_cat

    def do_stack(self, call: Call) -> Value:
        xs, dim = call.bind("tensors", "dim", dim=Static(0))
        if is_unknown(xs):
            return unknown()
        if self._running(xs):
            return ragged.stack(xs, dim, self.frame)
        items = self._list(xs, "stack")
        if any(is_unknown(x) for x in items):
            return unknown()
        if any(is_ragged(x) for x in items):
            d = dim_of(dim, len(ragged.shape(items[0])), "stack", extra=1)
            return ragged.cat(self.frame, [ragged.move(self.frame, x, "unsqueeze", d) for x in items], d)  # type: ignore[misc]
        return self.op("stack", items, {"dim": dim_of(dim, len(shape_of(items[0])), "stack", extra=1)})

    def do_chunk(self, call: Call) -> Value:
        x, chunks, dim = call.bind("input", "chunks", "dim", dim=Static(0))
        d = dim_of(dim, len(shape_of(x)), "chunk")
        extent = shape_of(x)[d]
        size = -(-extent // constant(chunks, "the number of chunks"))
        return self._pieces(x, d, [min(size, extent - at) for at in range(0, extent, size)])

    def do_split(self, call: Call) -> Value:
        x, sizes, dim = call.bind("input", "split_size_or_sections", "dim", dim=Static(0))
        d = dim_of(dim, len(shape_of(x)), "split")
        extent = shape_of(x)[d]
        wanted = constant(self.frame.static_list(sizes), "the split sizes")
        if isinstance(wanted, int):
            wanted = [min(wanted, extent - at) for at in range(0, extent, wanted)]
        if sum(wanted) != extent:
            raise Refused(f"`split`: the sizes {tuple(wanted)} do not add up to {extent}")
        return self._pieces(x, d, list(wanted))

    def _pieces(self, x: Dyn, dim: int, sizes: list[int]) -> TupleV:
        out, at = [], 0
        for size in sizes:
            out.append(self.op("slice", [x], {"dim": dim, "start": at, "stop": at + size}))
            at += size
        return TupleV(tuple(out))

    def do_unbind(self, call: Call) -> Value:
        x, dim = call.bind("input", "dim", dim=Static(0))
        d = dim_of(dim, len(shape_of(x)), "unbind")
        return TupleV(tuple(self.op("index", [x], {"dim": d, "i": i}) for i in range(shape_of(x)[d])))

    def do_select(self, call: Call) -> Dyn:
        x, dim, index = call.bind("input", "dim", "index")
        d = dim_of(dim, len(shape_of(x)), "select")
        i = constant(index, "the index of `select`")
        return self.op("index", [x], {"dim": d, "i": i + shape_of(x)[d] if i < 0 else i})

    def do_narrow(self, call: Call) -> Dyn:
        x, dim, start, length = call.bind("input", "dim", "start", "length")
        d, at = dim_of(dim, len(shape_of(x)), "narrow"), constant(start, "start")
        return self.op("slice", [x], {"dim": d, "start": at, "stop": at + constant(length, "length")})

    # ---- shapes

    @staticmethod
    def _loose(args: list[Value]) -> list[Any]:
        """The arguments of an operation that takes its extents one by one or as a tuple."""
        return list(args)

    def do_reshape(self, call: Call) -> Dyn:
        x, *extent = self._loose([*call.args, *call.kwargs.values()])
        wanted = [constant(e, "the shape") for e in self.frame.spread(extent)]
        known = math.prod([int(e) for e in wanted if e != -1])
        total = x.type.size
        shape = tuple(total // known if e == -1 and known else e for e in wanted)
        return self.op("reshape", [x], {"shape": shape})

    do_view = do_reshape

    def do_flatten(self, call: Call) -> Dyn:
        x, start, end = call.bind("input", "start_dim", "end_dim", start_dim=Static(0), end_dim=Static(-1))
        shape = shape_of(x)
        s, e = dim_of(start, len(shape), "flatten"), dim_of(end, len(shape), "flatten")
        return self.op("reshape", [x], {"shape": (*shape[:s], math.prod(shape[s : e + 1]), *shape[e + 1 :])})

    def do_unsqueeze(self, call: Call) -> Dyn:
        x, dim = call.bind("input", "dim")
        d = dim_of(dim, len(shape_of(x)), "unsqueeze", extra=1)
        shape = shape_of(x)
        return self.op("reshape", [x], {"shape": (*shape[:d], 1, *shape[d:])})

    def do_squeeze(self, call: Call) -> Dyn:
        x, dim = call.bind("input", "dim", dim=None)
        shape = shape_of(x)
        if dim is None:
            return self.op("reshape", [x], {"shape": tuple(e for e in shape if e != 1)})
        d = dim_of(dim, len(shape), "squeeze")
        return self.op("reshape", [x], {"shape": shape[:d] + shape[d + 1 :]}) if shape[d] == 1 else x

    def do_transpose(self, call: Call) -> Dyn:
        x, a, b = call.bind("input", "dim0", "dim1")
        rank = len(shape_of(x))
        i, j = dim_of(a, rank, "transpose"), dim_of(b, rank, "transpose")
        dims = list(range(rank))
        dims[i], dims[j] = dims[j], dims[i]
        return self.op("permute", [x], {"dims": tuple(dims)})

    def do_t(self, call: Call) -> Dyn:
        (x,) = call.bind("input")
        return self.op("permute", [x], {"dims": tuple(reversed(range(len(shape_of(x)))))})

    def do_permute(self, call: Call) -> Dyn:
        x, *dims = self._loose([*call.args, *call.kwargs.values()])
        items = self.frame.spread(dims)
        rank = len(shape_of(x))
        return self.op("permute", [x], {"dims": tuple(dim_of(d, rank, "permute") for d in items)})

    def do_contiguous(self, call: Call) -> Dyn:
        x: Any = call.args[0]
        self.frame.builder.fresh -= {getattr(self.frame.atom(x), "name", "")}  # the result may be the tensor or a copy of it
        return x  # type: ignore[no-any-return]

    def do_detach(self, call: Call) -> Dyn:
        return call.args[0]  # type: ignore[return-value]

    def do_clone(self, call: Call) -> Dyn:
        """A tensor of its own: changes of the other in place do not reach it."""
        x: Any = call.args[0]
        fresh = set(self.frame.builder.fresh)
        copy = self.op("reshape", [x], {"shape": shape_of(x)}, "clone")
        self.frame.builder.fresh = fresh | {getattr(copy.atom, "name", "")}
        return copy

    # ---- reductions

    def _along(self, op: str, call: Call) -> Dyn:
        x, dim, keepdim = call.bind("input", "dim", "keepdim", dim=None, keepdim=Static(False))
        keep = bool(constant(keepdim, "keepdim"))
        if dim is None or dim == Static(None):
            fresh = set(self.frame.builder.fresh)
            x = self.op("reshape", [x], {"shape": (math.prod(shape_of(x)),)})
            self.frame.builder.fresh = fresh  # nobody has this view
            return self.op(op, [x], {"dim": 0, "keepdim": False})
        return self.op(op, [x], {"dim": dim_of(dim, len(shape_of(x)), op), "keepdim": keep})

    def do_sum(self, call: Call) -> Value:
        return self._along("sum", call)

    def do_mean(self, call: Call) -> Dyn:
        return self._along("mean", call)

    def do_argmax(self, call: Call) -> Dyn:
        return self._along("argmax", call)

    def do_amax(self, call: Call) -> Dyn:
        return self._along("max", call)

    def do_max(self, call: Call) -> Value:
        if len(call.args) == 2 and is_tensor(call.args[1]):
            return self.binary("maximum", *call.args)
        if len(call.args) == 1 and not call.kwargs:
            return self._along("max", call)
        return TupleV((self._along("max", call), self._along("argmax", call)))

    def do_softmax(self, call: Call) -> Dyn:
        x, dim, _ = call.bind("input", "dim", "dtype", dtype=None)
        return self.op("softmax", [x], {"dim": dim_of(dim, len(shape_of(x)), "softmax")})

    def do_log_softmax(self, call: Call) -> Dyn:
        x, dim, _ = call.bind("input", "dim", "dtype", dtype=None)
        along = {"dim": dim_of(dim, len(shape_of(x)), "log_softmax"), "keepdim": True}
        shifted = self.op("sub", [x, self.op("max", [x], along)])
        return self.op("sub", [shifted, self.op("log", [self.op("sum", [self.op("exp", [shifted])], along)])])

    def do_layer_norm(self, call: Call) -> Dyn:
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
        if isinstance(shape, Dyn) or isinstance(shape, TupleV) and not all(_is_constant(v) for v in shape.items):
            entries = [shape] if isinstance(shape, Dyn) else list(shape.items)  # type: ignore[union-attr]
            return self._full_ragged(entries, value)
        extent = constant(shape, "the shape")
        return self.op(
            "full", [], {"shape": (extent,) if isinstance(extent, int) else tuple(extent), "value": value}, "constant"
        )

    def _full_ragged(self, entries: list[Any], value: float) -> Dyn:
        """A tensor of one number, some of whose extents are known at run time only."""
        k = next((i for i, e in enumerate(entries) if not _is_constant(e)), None)
        if k is None:
            return self._full_of(TupleV(tuple(entries)), value)
        counts = self.frame.host("range", [Static(0), entries[k], Static(1)], ListT(INT))
        rest = entries[:k] + entries[k + 1 :]
        return ragged.of_rows(ragged.mapped(self.frame, [counts], lambda _: self._full_ragged(rest, value), "i"), k)  # type: ignore[return-value]

    def _filled(self, call: Call, value: float) -> Dyn:
        if call.kwargs.get("dtype") in (Static(torch.bool), Static(torch.int64), Static(torch.long)):
            return self._host_filled(call, value)
        self._placement(call)
        if len(call.args) == 1:
            return self._full_of(self.frame.static_list(call.args[0]), value)
        return self._full_of(TupleV(tuple(call.args)), value)

    def _host_filled(self, call: Call, value: float) -> Dyn:
        """A tensor of ints or bools with one dimension, whose values the program has."""
        sizes = self.frame.spread(call.args)
        if len(sizes) != 1:
            raise Refused(f"`{call.name}` of ints or bools makes tensors of one dimension here")
        item: Value = Static(bool(value)) if call.kwargs["dtype"] == Static(torch.bool) else Static(int(value))
        counts = self.frame.host("range", [Static(0), sizes[0], Static(1)], ListT(INT))
        return ragged.of_rows(ragged.mapped(self.frame, [counts], lambda _: item, "i"), 0)  # type: ignore[return-value]

    def do_zeros(self, call: Call) -> Dyn:
        return self._filled(call, 0.0)

    def do_ones(self, call: Call) -> Dyn:
        return self._filled(call, 1.0)

    def do_full(self, call: Call) -> Dyn:
        self._placement(call)
        shape, value = call.bind("size", "fill_value")
        return self._full_of(self.frame.static_list(shape), float(constant(value, "the value")))

    def do_arange(self, call: Call) -> Value:
        """A tensor of ints, whose values the program has."""
        self._placement(Call(call.name, [], {k: v for k, v in call.kwargs.items() if k == "device"}))
        bounds = [v for v in call.args if v is not None]
        start, stop, step = ([Static(0), *bounds, Static(1)] if len(bounds) == 1 else [*bounds, Static(1)])[:3]
        if not all(is_number(v) and type_or_none(v) == INT for v in (start, stop, step)):
            raise Refused("`arange` takes ints here")
        return ragged.of_rows(self.frame.host("range", [start, stop, step], ListT(INT)), 0)

    def do_float(self, call: Call) -> Value:
        (x,) = call.bind("input")
        return x  # type: ignore[no-any-return]

    def do_zeros_like(self, call: Call) -> Dyn:
        return self._full_like(call, 0.0)

    def do_ones_like(self, call: Call) -> Dyn:
        return self._full_like(call, 1.0)

    def _full_like(self, call: Call, value: float) -> Dyn:
        self._placement(call)
        (x,) = call.bind("input")
        return self._full_of(Static(shape_of(x)), value)

    def do_new_zeros(self, call: Call) -> Dyn:
        return self._filled(Call(call.name, call.args[1:], call.kwargs), 0.0)

    def do_new_ones(self, call: Call) -> Dyn:
        return self._filled(Call(call.name, call.args[1:], call.kwargs), 1.0)

    def _placement(self, call: Call) -> None:
        """Take `dtype` and `device` off a call: there is one floating type, and one device."""
        dtype = call.kwargs.pop("dtype", Static(None))
        call.kwargs.pop("device", None)
        if dtype != Static(None) and not constant(dtype, "dtype").is_floating_point:
            raise Refused(f"`{call.name}` makes tensors of floats here")

    # ---- reading values

    def item(self, x: Dyn, kind: str = "float") -> Dyn:
        """`x.item()`: the instance waits."""
        if is_unknown(x):
            return unknown()
        if isinstance(x.type, ScalarT):
            return x  # of a tensor of ints, whose values the program has
        assert isinstance(x.type, TensorT)
        if x.type.size != 1:
            raise Refused(f"only a tensor of one element has a value to read; this one has shape {x.type.shape}")
        return self.frame.bind(
            n.Item(x.atom, ScalarT("int" if x.type.dtype == "int64" else "float"), span=self.frame.span), kind
        )

    def do_item(self, call: Call) -> Dyn:
        (x,) = call.bind("input")
        return self.item(x, "value")

    def do_size(self, call: Call) -> Value:
        x, dim = call.bind("input", "dim", dim=None)
        shape = shape_of(x)
        return Static(tuple(shape)) if dim is None else Static(shape[dim_of(dim, len(shape), "size")])

    def do_numel(self, call: Call) -> Value:
        return Static(math.prod(shape_of(call.args[0])))  # type: ignore[arg-type]

    def do_dim(self, call: Call) -> Value:
        return Static(len(shape_of(call.args[0])))  # type: ignore[arg-type]


def rows(f: Frame, x: Dyn) -> TupleV:
    """A tensor iterated over, or taken apart: its parts along the first dimension. Raises Refused."""
    if not shape_of(x):
        raise Refused("a tensor without dimensions cannot be iterated over")
    return TupleV(tuple(f.tensors.op("index", [x], {"dim": 0, "i": i}) for i in range(shape_of(x)[0])))


def index_tensor(f: Frame, node: ast.AST, value: Dyn, index: ast.expr) -> Value:
    """`x[...]`: constant indices and slices, None, `...`; as the first index of a weight also an int known at run time only."""
    entries = index.elts if isinstance(index, ast.Tuple) else [index]
    whole, dim = ragged.shape(value), 0
    for k, e in enumerate(entries):
        shape: tuple[Any, ...] = ragged.shape(value)
        if isinstance(e, ast.Constant) and e.value is Ellipsis:
            dim = len(shape) - sum(not (isinstance(x, ast.Constant) and x.value is None) for x in entries[k + 1 :])
            continue
        if isinstance(e, ast.Constant) and e.value is None:
            value = ragged.move(f, value, "unsqueeze", dim)  # type: ignore[assignment]
            dim += 1
            continue
        if dim >= len(shape):
            return f.problem(node, f"too many indices for a tensor of shape {whole}")
        if isinstance(e, ast.Slice) and (is_ragged(value) or not _constant_bounds(f, e)):
            if e.step is not None:
                return f.problem(e, "a slice of a tensor has step 1 here")
            lower, upper = (f.expression(b) if b else None for b in (e.lower, e.upper))
            value = ragged.cut(f, value, dim, lower, upper)  # type: ignore[assignment]
            dim += 1
            continue
        if isinstance(e, ast.Slice):
            bounds = [constant(f.expression(b), "a bound of a tensor slice") if b else None for b in (e.lower, e.upper, e.step)]
            start, stop, step = slice(*bounds).indices(shape[dim])
            if step != 1:
                return f.problem(e, "a slice of a tensor has step 1 here")
            if (start, stop) != (0, shape[dim]):
                value = f.tensors.op("slice", [value], {"dim": dim, "start": start, "stop": max(start, stop)})
            dim += 1
            continue
        i = f.expression(e)
        if isinstance(i, Held) and i.kind == "index":
            i = i.value
        if isinstance(i, HostTensor):
            i = i.index()
        if is_tensor(i) and i.type == TensorT((), "int64"):  # type: ignore[union-attr]
            i = f.tensors.item(i, "index")  # type: ignore[arg-type]
        if is_unknown(i):
            return unknown()
        if is_list(i) or is_ragged(i):
            if dim or i.type.item != INT:  # type: ignore[union-attr]
                return f.problem(e, "a list of ints chooses parts along the first dimension here")
            value = _chosen_parts(f, value, i)  # type: ignore[assignment,arg-type]
            dim += 1
            continue
        if is_ragged(value) or isinstance(i, Dyn) and not isinstance(i.atom, n.Lit) and not f.is_weight(value.atom):
            value = ragged.select(f, value, dim, i)  # type: ignore[assignment]
            continue
        if isinstance(i, Dyn) and not isinstance(i.atom, n.Lit):
            if dim or i.type != INT or not f.is_weight(value.atom):
                advice = "index the first dimension of an embedding's weight, or keep the tensors in a list"
                return f.problem(node, "only a row of a weight can be chosen at run time", advice)
            value = f.bind(make_op("row", [value.atom, i.atom], {}, f.span), "row")
            continue
        at = constant(i, "the index")
        if isinstance(at, bool) or not isinstance(at, int):
            return f.problem(e, "a tensor is indexed with ints, slices, None and ... here")
        if not -shape[dim] <= at < shape[dim]:
            return f.problem(node, f"index {at} is out of range for shape {shape}")
        value = f.tensors.op("index", [value], {"dim": dim, "i": at % shape[dim]})
    return value


def _chosen_parts(f: Frame, table: Dyn, places: Any) -> Any:
    """`table[places]` for a list of ints."""
    return ragged.embedding(f, places, lambda at: _part(f, table, at))


def _part(f: Frame, table: Dyn, i: Value) -> Value:
    if f.is_weight(table.atom):
        return f.bind(make_op("row", [table.atom, f.atom(i)], {}, f.span), "row")
    return ragged.select(f, table, 0, i)


def _constant_bounds(f: Frame, e: ast.Slice) -> bool:
    with f.trial():
        return all(b is None or _is_constant(f.expression(b)) for b in (e.lower, e.upper, e.step))


def torch_name(function: Any) -> str | None:
    """The name under which `Tensors.call` knows a function object of torch, or None."""
    for module in (torch, functional, torch.Tensor):
        name = str(getattr(function, "__name__", ""))
        if name and getattr(module, name, None) is function:
            return name
    return None


from backends.acrobat.frontend import ragged  # noqa: E402 - its rules call these operations on the parts of a ragged tensor
