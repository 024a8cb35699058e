"""Bundles of several float32 vectors that go through the same arithmetic, interleaved step by step.

Each vector needs one chain of dependent instructions (an activation is some 20). A chain alone fills the processor's schedulers
long before its units are busy; several chains interleaved in program order keep the units busy. The four activations of a
TreeLSTM cell take 28 cycles a vector alone, 20 in bundles of four.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import tirx

from backends.acrobat.kernels.cpu.code import Code, Expr, i32, i64

BUNDLE = 4
"""The vectors that a template computes side by side, where it has so many."""


def splat(value: Expr, lanes: int, dtype: str = "float32") -> Expr:
    """A vector with `value` in all lanes."""
    if isinstance(value, (int, float)):
        value = tirx.FloatImm(dtype, value) if dtype == "float32" else tirx.IntImm(dtype, int(value))
    return value if lanes == 1 else tirx.Broadcast(value, lanes)


def typed(dtype: str, lanes: int) -> str:
    """The name of a vector type, such as float32x8."""
    return dtype if lanes == 1 else f"{dtype}x{lanes}"


class Bundle:
    """Several vectors to which the same is done. Every result is bound to a name, so nothing is computed twice."""

    __slots__ = ("code", "items", "lanes")

    def __init__(self, code: Code, items: Sequence[Expr], lanes: int) -> None:
        self.code = code
        self.items = tuple(items)
        self.lanes = lanes

    @staticmethod
    def of(code: Code, items: Sequence[Expr], lanes: int) -> Bundle:
        """The bundle of these vectors, each of which is bound to a name."""
        return Bundle(code, [code.let(v, typed("float32", lanes)) for v in items], lanes)

    def map(self, function: Callable[..., Expr], *others: Bundle | float) -> Bundle:
        """function(vector of this bundle, vector of the next one, ...) for each place in the bundles; a number stands for a
        bundle that has it in all lanes."""
        rows = [o.items if isinstance(o, Bundle) else [splat(o, self.lanes)] * len(self.items) for o in others]
        return self.with_items([function(*args) for args in zip(self.items, *rows, strict=True)])

    def integers(self, function: Callable[..., Expr]) -> list[Expr]:
        """int32 vectors that `function` makes of the float vectors."""
        return [self.code.let(function(v), typed("int32", self.lanes)) for v in self.items]

    def with_items(self, items: Sequence[Expr]) -> Bundle:
        """A bundle of other vectors with as many lanes."""
        return Bundle.of(self.code, items, self.lanes)

    def __add__(self, other: Bundle | float) -> Bundle:
        return self.map(lambda a, b: a + b, other)

    def __sub__(self, other: Bundle | float) -> Bundle:
        return self.map(lambda a, b: a - b, other)

    def __mul__(self, other: Bundle | float) -> Bundle:
        return self.map(lambda a, b: a * b, other)

    def __truediv__(self, other: Bundle | float) -> Bundle:
        return self.map(lambda a, b: a / b, other)

    def __rsub__(self, other: float) -> Bundle:
        return self.map(lambda a, b: b - a, other)

    def __rtruediv__(self, other: float) -> Bundle:
        return self.map(lambda a, b: b / a, other)

    __radd__ = __add__
    __rmul__ = __mul__

    def fma(self, factor: Bundle | float, term: Bundle | float) -> Bundle:
        """self * factor + term, rounded once."""
        dtype = typed("float32", self.lanes)
        return self.map(lambda a, b, c: tirx.call_llvm_pure_intrin(dtype, "llvm.fma", a, b, c), factor, term)

    def at_least(self, bound: float) -> Bundle:
        """max(self, bound), where NaN stays NaN: x86's max gives its second operand if either is NaN."""
        return self.map(lambda a, b: tirx.Max(b, a), bound)

    def at_most(self, bound: float) -> Bundle:
        """min(self, bound), where NaN stays NaN."""
        return self.map(lambda a, b: tirx.Min(b, a), bound)

    def where(self, condition: Callable[..., Expr], then: Bundle | float, orelse: Bundle | float) -> Bundle:
        """Lane by lane, `then` where condition(self) holds."""
        return self.map(lambda a, b, c: tirx.Select(condition(a), b, c), then, orelse)


def vector_index(start: Expr, lanes: int) -> Expr:
    """The indices from `start` on of the elements of a vector."""
    return i64(start) if lanes == 1 else tirx.Ramp(i64(start), i64(1), lanes)


def load_vector(buffer: Any, start: Expr, lanes: int, mask: Expr | None = None, stride: int = 1) -> Expr:
    """`lanes` elements from `start` on, or one of them in all lanes (stride 0). Lanes outside the mask are not read."""
    if stride == 0 or lanes == 1:
        return splat(tirx.BufferLoad(buffer, [i64(start)]), lanes)
    if mask is None:
        return tirx.BufferLoad(buffer, [vector_index(start, lanes)])
    return tirx.op.masked_load(typed("float32", lanes), buffer, vector_index(start, lanes), mask)


def store_vector(code: Code, buffer: Any, start: Expr, value: Expr, lanes: int, mask: Expr | None = None) -> None:
    """Writes a store of a vector, or of its lanes in `mask`."""
    if mask is None or lanes == 1:
        code.add(tirx.BufferStore(buffer, value, [vector_index(start, lanes)]))
    else:
        code.add(tirx.Evaluate(tirx.op.masked_store(buffer, value, vector_index(start, lanes), mask)))


def load_vectors(code: Code, buffer: Any, count: int, lanes: int) -> Bundle:
    """The first `count` vectors of a buffer, each bound to a name."""
    return Bundle.of(code, [load_vector(buffer, v * lanes, lanes) for v in range(count)], lanes)


def accumulators(code: Code, count: int, lanes: int, initial: Expr = 0.0) -> Any:
    """A local buffer of `count` vectors, which have `initial` in all lanes."""
    buffer = code.local(count * lanes)
    for v in range(count):
        store_vector(code, buffer, v * lanes, splat(initial, lanes), lanes)
    return buffer


def first_lanes(count: Expr, lanes: int) -> Expr:
    """The mask of the first `count` lanes. A negative count gives none, one beyond `lanes` gives all."""
    count = i32(count) if isinstance(count, int) else tirx.Cast("int32", count)
    return tirx.LT(tirx.Ramp(i32(0), i32(1), lanes), tirx.Broadcast(count, lanes))
