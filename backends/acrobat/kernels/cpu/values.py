"""The values of one row while the code of a kernel is written: strided memory, reductions of lists, and formulas over both. A
formula is computed where its elements are asked for.

An int64 tensor is represented by 4-byte words, with one more dimension of 2 at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from backends.acrobat.kernels.cpu.activations import FUNCTIONS, sigmoid_tanh
from backends.acrobat.kernels.cpu.code import Code, Expr, load, plus, times
from backends.acrobat.kernels.cpu.vectors import Bundle, accumulators, load_vector, load_vectors, splat, store_vector

Index = Sequence[Expr]


class Value:
    """A tensor of one row."""

    shape: tuple[int, ...]

    def steps(self, axis: int) -> set[int]:
        """The distances in memory between neighbours along an axis, in elements, for each tensor that the value is read from;
        0 where all elements along the axis are one."""
        raise NotImplementedError

    def vectors(self, code: Code, index: Index, axis: int, starts: Sequence[Expr], lanes: int, mask: Expr | None) -> Bundle:
        """For each start the vector along `axis` that begins at `index` plus the start, or with axis -1 the element at `index`
        in all lanes. Steps along the axis are 0 or 1. Elements outside the mask are not read."""
        raise NotImplementedError

    def scalar(self, code: Code, index: Index) -> Bundle:
        """The element at `index`, as a bundle of one vector of one lane."""
        return self.vectors(code, index, -1, [0], 1, None)


class Strided(Value):
    """A tensor in `buffer`: its first element is at `start`, and `strides` are the distances along its dimensions."""

    def __init__(self, buffer: Any, start: Expr, shape: Sequence[int], strides: Sequence[int] | None = None) -> None:
        self.buffer = buffer
        self.start = start
        self.shape = tuple(shape)
        self.strides = tuple(strides) if strides is not None else contiguous(self.shape)

    def at(self, index: Index) -> Expr:
        """Where in the buffer the element at `index` is."""
        address = self.start
        for i, stride in zip(index, self.strides, strict=True):
            address = plus(address, times(i, stride))
        return address

    def steps(self, axis: int) -> set[int]:
        return {self.strides[axis] if self.shape[axis] > 1 else 0} if self.shape else {0}

    def vectors(self, code: Code, index: Index, axis: int, starts: Sequence[Expr], lanes: int, mask: Expr | None) -> Bundle:
        stride = self.strides[axis] if axis >= 0 else 0
        places = [self._along(index, axis, start) for start in starts]
        return Bundle.of(code, [load_vector(self.buffer, place, lanes, mask, stride) for place in places], lanes)

    def store(self, code: Code, index: Index, axis: int, start: Expr, value: Expr, lanes: int, mask: Expr | None) -> None:
        """Stores a vector along `axis`, which begins at `index` plus `start`."""
        store_vector(code, self.buffer, self._along(index, axis, start), value, lanes, mask)

    def _along(self, index: Index, axis: int, start: Expr) -> Expr:
        return self.at([plus(i, start) if d == axis else i for d, i in enumerate(index)])

    # The views that moves make of the tensor, as PyTorch's functions of these names do.

    def slice(self, dim: int, start: int, stop: int) -> Strided:
        shape = (*self.shape[:dim], stop - start, *self.shape[dim + 1 :])
        return Strided(self.buffer, plus(self.start, start * self.strides[dim]), shape, self.strides)

    def index(self, dim: int, i: int) -> Strided:
        part = self.slice(dim, i, i + 1)
        return Strided(self.buffer, part.start, drop(part.shape, dim), drop(part.strides, dim))

    def permute(self, dims: Sequence[int]) -> Strided:
        return Strided(self.buffer, self.start, [self.shape[d] for d in dims], [self.strides[d] for d in dims])

    def insert(self, dim: int, extent: int) -> Strided:
        """A new dimension along which all elements are the same."""
        return Strided(
            self.buffer,
            self.start,
            (*self.shape[:dim], extent, *self.shape[dim:]),
            (*self.strides[:dim], 0, *self.strides[dim:]),
        )

    def broadcast(self, shape: Sequence[int]) -> Strided:
        """The same elements in a numpy-broadcast shape."""
        missing = len(shape) - len(self.shape)
        strides = [0 if n == 1 else s for n, s in zip(self.shape, self.strides, strict=True)]
        return Strided(self.buffer, self.start, shape, (*[0] * missing, *strides))

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie one after the other, so that `reshape` is a view too."""
        return all(n == 1 or s == c for n, s, c in zip(self.shape, self.strides, contiguous(self.shape), strict=True))

    def reshape(self, shape: Sequence[int]) -> Strided:
        return Strided(self.buffer, self.start, shape)


class ListItems(Value):
    """The items of a row's list; `items[first : first + count]` says where each starts in `base`. Kernels only reduce them."""

    def __init__(self, base: Any, first: Expr, count: Expr, items: Any, shape: Sequence[int]) -> None:
        self.base, self.first, self.count, self.items = base, first, count, items
        self.shape = tuple(shape)

    def item(self, i: Expr) -> Expr:
        """Where item `i` starts."""
        return load(self.items, plus(self.first, i))


class ListReduced(Value):
    """The items of a list combined element by element; `neutral` is the value if there are none."""

    def __init__(self, xs: ListItems, combine: Callable[[Bundle, Bundle], Bundle], neutral: float) -> None:
        self.xs, self.combine, self.neutral = xs, combine, neutral
        self.shape = xs.shape

    def steps(self, axis: int) -> set[int]:
        return Strided(self.xs.base, 0, self.shape).steps(axis)

    def vectors(self, code: Code, index: Index, axis: int, starts: Sequence[Expr], lanes: int, mask: Expr | None) -> Bundle:
        total = accumulators(code, len(starts), lanes, self.neutral)
        with code.loop(self.xs.count, "item") as i:
            item = Strided(self.xs.base, code.let(self.xs.item(i)), self.shape)
            values = item.vectors(code, index, axis, starts, lanes, mask)
            sums = self.combine(load_vectors(code, total, len(starts), lanes), values)
            for v, value in enumerate(sums.items):
                store_vector(code, total, v * lanes, value, lanes)
        return load_vectors(code, total, len(starts), lanes)


class Formula(Value):
    """An element-wise operation on values that broadcast to `shape`; a float argument is a literal."""

    def __init__(self, op: str, args: Sequence[Value | float], shape: Sequence[int]) -> None:
        self.op = op
        self.args = tuple(args)
        self.shape = tuple(shape)

    def _axis(self, arg: Value, axis: int) -> int:
        """Which axis of the argument the result's `axis` is; -1 if the argument is the same all along it."""
        own = axis - (len(self.shape) - len(arg.shape))
        return own if axis >= 0 and own >= 0 and arg.shape[own] > 1 else -1

    def steps(self, axis: int) -> set[int]:
        out: set[int] = set()
        for arg in self.args:
            if isinstance(arg, Value):
                own = self._axis(arg, axis)
                out |= arg.steps(own) if own >= 0 else {0}
        return out

    def vectors(self, code: Code, index: Index, axis: int, starts: Sequence[Expr], lanes: int, mask: Expr | None) -> Bundle:
        """The vectors of the result that begin at `starts` along `axis`; arguments that are the same there are read once
        each."""

        def value(arg: Value | float) -> Bundle:
            if not isinstance(arg, Value):
                return Bundle(code, [splat(arg, lanes)] * len(starts), lanes)
            own = self._axis(arg, axis)
            tail = list(index)[len(self.shape) - len(arg.shape) :]
            tail = [0 if n == 1 else i for i, n in zip(tail, arg.shape, strict=True)]
            if own >= 0:
                return arg.vectors(code, tail, own, starts, lanes, mask)
            (element,) = arg.scalar(code, tail).items
            return Bundle(code, [splat(element, lanes)] * len(starts), lanes)

        if self.op == "identity":
            return value(self.args[0])
        a = self.args[0]
        b = self.args[-1]
        if self.op == "mul" and is_formula(a, "sigmoid") and is_formula(b, "tanh") and a is not b:
            inner = [Formula("identity", f.args, f.shape) for f in (a, b)]  # type: ignore[union-attr]
            return sigmoid_tanh(value(inner[0]), value(inner[1]))
        return FUNCTIONS[self.op](*map(value, self.args))


def is_formula(value: Value | float, op: str) -> bool:
    """Whether a value is computed by the element-wise operation `op` where it is used."""
    return isinstance(value, Formula) and value.op == op


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor of this shape whose elements lie one after the other."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def drop(items: Sequence[int], i: int) -> tuple[int, ...]:
    """The sequence without item number `i`."""
    return (*items[:i], *items[i + 1 :])
