"""Operations of row-wise kernels that are more than one loop: products, softmax, layer norm, argmax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from tvm import tirx

from backends.acrobat.core.units import ALIGN, Instr
from backends.acrobat.kernels.cpu.activations import exp, maximum, sqrt
from backends.acrobat.kernels.cpu.code import Code, Expr
from backends.acrobat.kernels.cpu.loops import fill, nest, position, reduce, reduce_line, sweep, vectorises
from backends.acrobat.kernels.cpu.operands import Interface
from backends.acrobat.kernels.cpu.values import Formula, Index, Strided, Value, contiguous
from backends.acrobat.kernels.cpu.vectors import Bundle, splat

INFINITY = float("inf")
Function = Callable[[Bundle], Bundle]


def add(a: Bundle, b: Bundle) -> Bundle:
    """The sum, for reductions that add."""
    return a + b


class Line(Value):
    """`function` of the elements along one dimension of a tensor. With `highest`: the index of each element that equals it or
    is NaN, and infinity for all others."""

    def __init__(self, source: Strided, index: Index, function: Function, dim: int = -1, highest: Expr | None = None) -> None:
        self.source, self.index, self.function, self.highest = source, list(index), function, highest
        self.dim = dim % len(source.shape)
        self.shape = (source.shape[self.dim],)

    def steps(self, axis: int) -> set[int]:
        return self.source.steps(self.dim)

    def vectors(self, code: Code, index: Index, axis: int, starts: Sequence[Expr], lanes: int, mask: Expr | None) -> Bundle:
        inner = [index[0] if d == self.dim else i for d, i in enumerate(self.index)]
        if axis < 0:
            elements = self.source.scalar(code, inner)
        else:
            elements = self.source.vectors(code, inner, self.dim, starts, lanes, mask)
        if self.highest is None:
            return self.function(elements)
        items = []
        for item, start in zip(elements.items, starts, strict=True):
            number = position(start if axis >= 0 else index[0], lanes)
            equal = tirx.Select(tirx.EQ(item, splat(self.highest, lanes)), number, splat(INFINITY, lanes))
            items.append(tirx.Select(item <= splat(INFINITY, lanes), equal, number))
        return elements.with_items(items)


class RowOperations:
    """Writes operations of a kernel. Values that need memory go to scratch, of which `scratch_size` elements are used."""

    def __init__(self, code: Code, interface: Interface, lanes: int) -> None:
        self.code = code
        self.interface = interface
        self.lanes = lanes
        self.scratch_size = 0

    def _room(self, shape: Sequence[int]) -> Strided:
        """Reserves scratch for a tensor of this shape."""
        start = self.scratch_size
        self.scratch_size += -(-prod(shape) // ALIGN) * ALIGN
        return Strided(self.interface.scratch, start, shape)

    def _in_memory(self, value: Value, target: Strided | None = None) -> Strided:
        """The value in memory: in `target` if that is given, else where it lies already, else in scratch."""
        if target is None and isinstance(value, Strided):
            return value
        target = target or self._room(value.shape)
        fill(self.code, target, value, self.lanes)
        return target

    def _product(self, instr: Instr, args: list[Strided], target: Strided | None) -> Strided:
        """`linear` or `matmul` as sums of products, in vectors along the reduction or the columns, whichever lie contiguously.
        Both operands become views of shape [batch..., rows, columns, reduction]."""
        code, lanes = self.code, self.lanes
        a, b = args[:2]
        product = target or self._room(instr.type.shape)
        sums = product
        if instr.op == "linear":
            rows = a.shape[:-1]
            b = b.broadcast((*rows, *b.shape))
            a = a.insert(len(rows), b.shape[-2])
        else:
            if len(a.shape) == 1:
                a, sums = a.insert(0, 1), sums.insert(len(sums.shape) - (len(b.shape) > 1), 1)
            if len(b.shape) == 1:
                b, sums = b.insert(1, 1), sums.insert(len(sums.shape), 1)
            batch = sums.shape[:-2]
            a = a.broadcast((*batch, *a.shape[-2:])).insert(len(batch) + 1, b.shape[-1])
            b = b.broadcast((*batch, *b.shape[-2:])).insert(len(batch), a.shape[len(batch)])
            b = b.permute((*range(len(batch) + 1), len(batch) + 2, len(batch) + 1))
        last = len(a.shape) - 1
        if b.strides[last] == 1 or b.shape[last - 1] == 1:
            terms = Formula("mul", (a, b), a.shape)
            reduce(code, sums.insert(last, 1), terms, last, add, 0.0, lanes)
        else:
            order = (*range(last - 1), last, last - 1)
            a, b = a.permute(order), b.permute(order)
            reduce(code, sums.insert(last - 1, 1), Formula("mul", (a, b), a.shape), last - 1, add, 0.0, lanes)
        if len(args) > 2:
            fill(code, product, Formula("add", (product, args[2]), product.shape), lanes)
        return product

    def _softmax(self, source: Value, target: Strided, dim: int) -> None:
        """target = the softmax of `source` along `dim`."""
        source = self._in_memory(source)
        order = [d for d in range(len(source.shape)) if d != dim] + [dim]
        x, y = source.permute(order), target.permute(order)
        last = len(order) - 1
        with nest(self.code, x.shape[:last]) as outer:
            index = [*outer, 0]
            highest = reduce_line(self.code, x, index, last, maximum, -INFINITY, self.lanes)
            self._line(y, x, index, lambda v: exp(v - v.with_items([splat(highest, v.lanes)] * len(v.items))))
            total = reduce_line(self.code, y, index, last, add, 0.0, self.lanes)
            factor = self.code.let(splat(1.0, 1) / total, "float32")
            self._line(y, y, index, lambda v: v.map(lambda e: e * splat(factor, v.lanes)))

    def _line(self, target: Strided, value: Value, index: Index, function: Function) -> None:
        """target = function(value) along the last dimension."""
        last = len(target.shape) - 1
        wide = vectorises(target, last) and vectorises(value, last) and target.shape[last] > 1
        lanes = self.lanes if wide else 1

        def body(starts: list[Expr], mask: Expr | None) -> None:
            if lanes == 1:
                items = [value.scalar(self.code, [*index[:last], s]).items[0] for s in starts]
                vectors = Bundle(self.code, items, 1)
            else:
                vectors = value.vectors(self.code, index, last, starts, lanes, mask)
            for start, item in zip(starts, function(vectors).items, strict=True):
                target.store(self.code, [*index[:last], 0], last, start, item, lanes, mask)

        sweep(self.code, target.shape[last], lanes, body)

    def _layer_norm(self, args: list[Value | float], target: Strided, eps: float) -> None:
        """target = the layer norm of `args`, which are the source, weight and bias, along the last dimension."""
        x, weight, bias = (self._in_memory(a) for a in args if isinstance(a, Value))
        code, last = self.code, len(x.shape) - 1
        with nest(code, x.shape[:last]) as outer:
            index = [*outer, 0]
            extent = x.shape[last]
            mean = code.let(reduce_line(code, x, index, last, add, 0.0, self.lanes) * splat(1.0 / extent, 1), "float32")
            centred = Line(x, index, lambda v: v.map(lambda e: e - splat(mean, v.lanes)))
            square = reduce_line(code, Formula("mul", (centred, centred), (extent,)), [0], 0, add, 0.0, self.lanes)
            variance = Bundle(code, [square], 1) * (1.0 / extent) + eps
            (scale,) = (1.0 / sqrt(variance)).items
            scaled = Line(x, index, lambda v: v.map(lambda e: (e - splat(mean, v.lanes)) * splat(scale, v.lanes)))
            line = Strided(target.buffer, target.at(index), (extent,), target.strides[last:])
            fill(code, line, Formula("add", (Formula("mul", (scaled, weight), (extent,)), bias), (extent,)), self.lanes)

    def _argmax(self, source: Value, target: Strided, dim: int) -> None:
        """target = the first index of the largest element along `dim`, or of the first NaN if there is one; an int64 number,
        written as its two words."""
        code = self.code
        source = self._in_memory(source)
        shape = (*source.shape[:dim], 1, *source.shape[dim + 1 :], 2)
        index_words = Strided(target.buffer, target.start, shape, contiguous(shape))
        with nest(code, shape[:-1]) as index:
            highest = reduce_line(code, source, index, dim, maximum, -INFINITY, self.lanes)
            places = Line(source, index, lambda v: v, dim, highest)
            first = reduce_line(code, places, [0], 0, lambda a, b: a.map(tirx.Min, b), INFINITY, self.lanes)
            word = tirx.reinterpret("float32", tirx.Cast("int32", first))
            index_words.store(code, [*index, 0], -1, 0, word, 1, None)
            index_words.store(code, [*index, 1], -1, 0, splat(0.0, 1), 1, None)
