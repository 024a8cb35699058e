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
from backends.acrobat.kernels.cpu.vectors import Bundle, load_vector, splat, store_vector

Index = Sequence[Expr]


class Value:
    """A tensor of one row. `steps(axis)`: the distances between neighbours along an axis, over all memory that is read."""

    shape: tuple[int, ...]

    def steps(self, axis: int) -> set[int]:
        raise NotImplementedError

    def vectors(self, code: Code, index: Index, axis: int, starts: Sequence[Expr], lanes: int, mask: Expr | None) -> Bundle:
        """For each start the vector along `axis` that begins at `index` plus the start. Steps along the axis are 0 or 1."""
        raise NotImplementedError

    def scalar(self, code: Code, index: Index) -> Bundle:
        return self.vectors(code, index, -1, [0], 1, None)


class Strided(Value):
    """A tensor in `buffer`: its first element is at `start`, and `strides` are the distances along its dimensions."""

    def __init__(self, buffer: Any, start: Expr, shape: Sequence[int], strides: Sequence[int] | None = None) -> None:
        self.buffer = buffer
        self.start = start
        self.shape = tuple(shape)
        self.strides = tuple(strides) if strides is not None else contiguous(self.shape)

    def at(self, index: Index) -> Expr:
        place = self.start
        for i, stride in zip(index, self.strides, strict=True):
            place = plus(place, times(i, stride))
        return place

    def steps(self, axis: int) -> set[int]:
        return {self.strides[axis] if self.shape[axis] > 1 else 0} if self.shape else {0}

    def vectors(self, code: Code, index: Index, axis: int, starts: Sequence[Expr], lanes: int, mask: Expr | None) -> Bundle:
        stride = self.strides[axis] if axis >= 0 else 0
        items = []
        for start in starts:
            place = self.at([plus(i, start) if d == axis else i for d, i in enumerate(index)])
            items.append(load_vector(self.buffer, place, lanes, mask, stride))
        return Bundle(code, (), lanes).with_items(items)

    def store(self, code: Code, index: Index, axis: int, start: Expr, value: Expr, lanes: int, mask: Expr | None) -> None:
        place = self.at([plus(i, start) if d == axis else i for d, i in enumerate(index)])
        store_vector(code, self.buffer, place, value, lanes, mask)

    def slice(self, dim: int, start: int, stop: int) -> Strided:
        shape = (*self.shape[:dim], stop - start, *self.shape[dim + 1 :])
        return Strided(self.buffer, plus(self.start, start * self.strides[dim]), shape, self.strides)

    def index(self, dim: int, i: int) -> Strided:
        picked = self.slice(dim, i, i + 1)
        return Strided(self.buffer, picked.start, drop(picked.shape, dim), drop(picked.strides, dim))

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
        return {contiguous(self.shape)[axis] if self.shape[axis] > 1 else 0} if self.shape else {0}

    def vectors(self, code: Code, index: Index, axis: int, starts: Sequence[Expr], lanes: int, mask: Expr | None) -> Bundle:
        total = code.local(len(starts) * lanes)
        for v in range(len(starts)):
            store_vector(code, total, v * lanes, splat(self.neutral, lanes), lanes)
        with code.loop(self.xs.count, "item") as i:
            item = Strided(self.xs.base, code.let(self.xs.item(i)), self.shape)
            values = item.vectors(code, index, axis, starts, lanes, mask)
            before = values.with_items([load_vector(total, v * lanes, lanes) for v in range(len(starts))])
            for v, value in enumerate(self.combine(before, values).items):
                store_vector(code, total, v * lanes, value, lanes)
        return Bundle(code, (), lanes).with_items([load_vector(total, v * lanes, lanes) for v in range(len(starts))])


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
        def value(arg: Value | float) -> Bundle:
            if not isinstance(arg, Value):
                return Bundle(code, [splat(arg, lanes)] * len(starts), lanes)
            own = self._axis(arg, axis)
            tail = list(index)[len(self.shape) - len(arg.shape) :]
            tail = [0 if n == 1 else i for i, n in zip(tail, arg.shape, strict=True)]
            if own >= 0:
                return arg.vectors(code, tail, own, starts, lanes, mask)
            (one,) = arg.scalar(code, tail).items
            return Bundle(code, [splat(one, lanes)] * len(starts), lanes)

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


def drop(items: Sequence[int], at: int) -> tuple[int, ...]:
    """The sequence without the item at `at`."""
    return (*items[:at], *items[at + 1 :])
