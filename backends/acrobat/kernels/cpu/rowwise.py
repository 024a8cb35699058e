"""The row-wise template takes any kernel and computes one row after another. Each operation is a loop over its elements, in
vectors along the last dimension where addresses allow.

Element-wise operations that are used once are computed where they are used. Moves of values in memory are views. Every other
value goes to scratch. Products are sums of products here: right, not fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from tvm import tirx

from backends.acrobat.core.ops import ITEMWISE, LISTS, OPS, Fusion
from backends.acrobat.core.units import Instr, Kernel, Mode
from backends.acrobat.kernels.cpu.activations import exp, maximum, minimum, sqrt
from backends.acrobat.kernels.cpu.code import Code, Expr, i64, load, plus, times
from backends.acrobat.kernels.cpu.lookahead import LINE, Lists
from backends.acrobat.kernels.cpu.loops import Combine, fill, nest, position, reduce, reduce_line, sweep
from backends.acrobat.kernels.cpu.operands import Interface
from backends.acrobat.kernels.cpu.segments import CHUNK, SegmentWriter
from backends.acrobat.kernels.cpu.shared_attention import FEWEST, MOST, SharedAttentionWriter
from backends.acrobat.kernels.cpu.shared_lists import SharedLists
from backends.acrobat.kernels.cpu.values import Formula, Index, ListItems, ListReduced, Strided, Value, contiguous
from backends.acrobat.kernels.cpu.vectors import Bundle, splat

INFINITY = float("inf")

AHEAD = 64
"""The most cache lines of an operand's next row that are prefetched."""

Function = Callable[[Bundle], Bundle]


def add(a: Bundle, b: Bundle) -> Bundle:
    return a + b


REDUCTIONS: dict[str, tuple[Combine, float]] = {
    "list_sum": (add, 0.0),
    "list_max": (maximum, -INFINITY),
    "list_min": (minimum, INFINITY),
}
"""How the items of a list are combined, and the result for a list without items."""


def words(t: Any) -> tuple[int, ...]:
    """A type's shape in 4-byte elements."""
    return (*t.shape, 2) if t.dtype == "int64" else t.shape


class RowWriter:
    def __init__(self, code: Code, interface: Interface, lanes: int) -> None:
        self.code = code
        self.interface = interface
        self.kernel: Kernel = interface.kernel
        self.lanes = lanes
        self.scratch_size = 0
        self.uses: dict[str, int] = {}
        for name in (*(a for i in self.kernel.body for a in i.args if isinstance(a, str)), *self.kernel.results):
            self.uses[name] = self.uses.get(name, 0) + 1

    def write(self) -> None:
        code, interface = self.code, self.interface
        attention = self._shared_attention()
        if attention is None:
            with code.loop(interface.row_end - interface.row_begin, "row") as i:
                row = code.let(interface.row_begin + i)
                self._fetch_ahead(code.let(tirx.Min(row + 1, interface.row_end - 1)))
                self._row(row)
            return
        query, keys, values = (str(a) for a in attention.args)
        last = code.let(interface.row_end - i64(1))

        def lists(row: Expr) -> Lists:
            operands, _ = self._operands(row)
            ks, vs = operands[keys], operands[values]
            assert isinstance(ks, ListItems) and isinstance(vs, ListItems)
            return ks, vs

        for first, count in SharedLists(code, interface, [keys, values]).runs(MOST):
            own = lists(first)
            many = code.let(tirx.all(count >= i64(FEWEST), own[0].count > i64(0)), "bool")
            with code.when(many):

                def line(i: Expr, first: Expr = first) -> tuple[Strided, Strided]:
                    operands, places = self._operands(code.let(tirx.Min(first + i, last)))
                    found = operands[query]
                    assert isinstance(found, Strided)
                    (place,) = places.values()
                    return found, place

                after = lists(code.let(tirx.Min(first + count, last)))
                shared = SharedAttentionWriter(code, self.lanes, own, after, line, count, self._room)
                shared.write(float(dict(attention.attrs)["scale"]))
            with code.when(tirx.Not(many)), code.loop(count, "row") as i:
                self._row(code.let(first + i))

    def _shared_attention(self) -> Instr | None:
        """The kernel's list attention if it has no other operation but reshapes; else None. Rows that share their lists are
        then computed together."""
        found = [i for i in self.kernel.body if i.op != "reshape"]
        ours = len(found) == 1 and found[0].op == "list_attention" and len(self.kernel.results) == 1
        params = {p.name for p in self.kernel.params}
        return found[0] if ours and set(found[0].args) <= params else None

    def _row(self, row: Expr) -> None:
        values, places = self._operands(row)
        for instr in self.kernel.body:
            values[instr.name] = self._value(instr, values, places.get(instr.name))
        for name, place in places.items():
            if name.startswith("copy "):
                fill(self.code, place, values[name.split(" of ", 1)[1]], self.lanes)

    def _operands(self, row: Expr) -> tuple[dict[str, Value], dict[str, Strided]]:
        """The operands of a row, and where its results go."""
        code, interface = self.code, self.interface
        values: dict[str, Value] = {}
        for p in self.kernel.params:
            if p.mode is Mode.LIST:
                first, count, items = interface.items(p.name, row)
                values[p.name] = ListItems(interface.base, code.let(first), code.let(count), items, p.type.shape)
            else:
                buffer, start = interface.operand(p.name, row)
                values[p.name] = Strided(buffer, code.let(start), words(p.type))
        out = code.let(interface.result(row))
        places: dict[str, Strided] = {}
        for name, at, t in zip(self.kernel.results, self.kernel.displacements, self.kernel.result_types, strict=True):
            place = Strided(interface.out, code.let(out + at), words(t))
            if name in places or name in values:
                places[f"copy {len(places)} of {name}"] = place
            else:
                places[name] = place
        return values, places

    def _fetch_ahead(self, row: Expr) -> None:
        """Prefetches the operands of `row`, the next one. They lie anywhere, which the processor's own prefetching does not
        foresee. (Measured with 1024 instances, too many for the caches: 12 % off TreeLSTM's leaves. What remains of their cost
        is the memory's bandwidth. The same for a product's rows won nothing. The lists of a segment kernel are left out: they
        are long, and mostly the same for several rows.)"""
        code, base = self.code, self.interface.base
        segments = any(i.op in LISTS - ITEMWISE.keys() for i in self.kernel.body)
        for p in self.kernel.params:
            lines = min(AHEAD, -(-prod(words(p.type)) // LINE))
            if p.mode is Mode.GATHERED:
                start = code.let(self.interface.operand(p.name, row)[1])
                with code.loop(lines, "line") as line:
                    code.prefetch(base, plus(start, times(line, LINE)))
            elif p.mode is Mode.LIST and not segments:
                first, count, items = self.interface.items(p.name, row)
                with code.loop(code.let(count), "item") as i:
                    start = code.let(load(items, plus(first, i)))
                    with code.loop(lines, "line") as line:
                        code.prefetch(base, plus(start, times(line, LINE)))

    def _room(self, shape: Sequence[int]) -> Strided:
        """Reserves scratch for a tensor of this shape."""
        start = self.scratch_size
        self.scratch_size += -(-prod(shape) // 16) * 16
        return Strided(self.interface.scratch, start, shape)

    def _stored(self, value: Value, place: Strided | None = None) -> Strided:
        """The value in memory: in `place` if that is given, else where it lies already, else in scratch."""
        if place is None and isinstance(value, Strided):
            return value
        place = place or self._room(value.shape)
        fill(self.code, place, value, self.lanes)
        return place

    def _value(self, instr: Instr, values: dict[str, Value], place: Strided | None) -> Value:
        args: list[Value | float] = [values[a] if isinstance(a, str) else float(a) for a in instr.args]
        attrs = dict(instr.attrs)
        match OPS[instr.op].fusion:
            case Fusion.ELEMENTWISE:
                value: Value = Formula(instr.op, args, instr.type.shape)
                return self._stored(value, place) if place or self.uses.get(instr.name, 0) > 1 else value
            case Fusion.CONSTANT:
                value = Formula("identity", [float(attrs["value"])], instr.type.shape)
                return self._stored(value, place) if place else value
            case Fusion.MOVE:
                moved = self._move(instr, [a for a in args if isinstance(a, Value)], attrs, place)
                return moved if place is None or moved is place else self._stored(moved, place)
            case Fusion.PRODUCT:
                return self._product(instr, [self._stored(a) for a in args if isinstance(a, Value)], place)
        if instr.op in LISTS:
            return self._over_list(instr, args, place)
        source = args[0]
        assert isinstance(source, Value)
        place = place or self._room(words(instr.type))
        match instr.op:
            case "softmax":
                self._softmax(source, place, attrs["dim"])
            case "layer_norm":
                self._layer_norm(args, place, attrs["eps"])
            case "argmax":
                self._argmax(source, place, attrs["dim"])
            case "sum":
                reduce(self.code, kept(place, source, attrs["dim"]), source, attrs["dim"], add, 0.0, self.lanes)
            case "mean":
                extent = source.shape[attrs["dim"]]
                reduce(self.code, kept(place, source, attrs["dim"]), source, attrs["dim"], add, 0.0, self.lanes, 1.0 / extent)
            case "max":
                reduce(self.code, kept(place, source, attrs["dim"]), source, attrs["dim"], maximum, -INFINITY, self.lanes)
            case _:
                raise AssertionError(instr.op)
        return place

    def _over_list(self, instr: Instr, args: Sequence[Value | float], place: Strided | None) -> Value:
        if instr.op in ITEMWISE:
            (xs,) = args
            assert isinstance(xs, ListItems)
            value = ListReduced(xs, *REDUCTIONS[instr.op])
            return self._stored(value, place) if place or self.uses.get(instr.name, 0) > 1 else value
        place = place or self._room(instr.type.shape)
        writer = SegmentWriter(self.code, self.lanes, self._room((CHUNK,)))
        *rest, scores, values = args
        assert isinstance(scores, ListItems) and isinstance(values, ListItems)
        if instr.op == "list_softmax":
            writer.softmax(scores, values, place)
        else:
            (query,) = (self._stored(a) for a in rest if isinstance(a, Value))
            if not query.is_contiguous:
                query = self._stored(query, self._room(query.shape))
            writer.attention(query, scores, values, place, float(dict(instr.attrs)["scale"]))
        return place

    def _move(self, instr: Instr, args: list[Value], attrs: dict[str, Any], place: Strided | None) -> Strided:
        match instr.op:
            case "cat" | "stack":
                place, dim, at = place or self._room(words(instr.type)), attrs["dim"], 0
                for arg in args:
                    extent = 1 if instr.op == "stack" else arg.shape[dim]
                    piece = place.slice(dim, at, at + extent)
                    fill(self.code, piece.index(dim, 0) if instr.op == "stack" else piece, arg, self.lanes)
                    at += extent
                return place
            case "slice":
                return self._stored(args[0]).slice(attrs["dim"], attrs["start"], attrs["stop"])
            case "index":
                return self._stored(args[0]).index(attrs["dim"], attrs["i"])
            case "permute":
                extra = () if len(words(instr.type)) == len(instr.type.shape) else (len(instr.type.shape),)
                return self._stored(args[0]).permute((*attrs["dims"], *extra))
            case "reshape":
                source = self._stored(args[0])
                if not source.is_contiguous:
                    source = self._stored(source, self._room(source.shape))
                return source.reshape(words(instr.type))
        raise AssertionError(instr.op)

    def _product(self, instr: Instr, args: list[Strided], place: Strided | None) -> Strided:
        """Sums of products, in vectors along the reduction or the columns, whichever lie contiguously."""
        code, lanes = self.code, self.lanes
        a, b = args[:2]
        target = place or self._room(instr.type.shape)
        filled = target
        if instr.op == "linear":
            rows = a.shape[:-1]
            b = b.broadcast((*rows, *b.shape))
            a = a.insert(len(rows), b.shape[-2])
        else:
            if len(a.shape) == 1:
                a, filled = a.insert(0, 1), filled.insert(len(filled.shape) - (len(b.shape) > 1), 1)
            if len(b.shape) == 1:
                b, filled = b.insert(1, 1), filled.insert(len(filled.shape), 1)
            batch = filled.shape[:-2]
            a = a.broadcast((*batch, *a.shape[-2:])).insert(len(batch) + 1, b.shape[-1])
            b = b.broadcast((*batch, *b.shape[-2:])).insert(len(batch), a.shape[len(batch)])
            b = b.permute((*range(len(batch) + 1), len(batch) + 2, len(batch) + 1))
        last = len(a.shape) - 1
        if b.strides[last] == 1 or b.shape[last - 1] == 1:
            terms = Formula("mul", (a, b), a.shape)
            reduce(code, filled.insert(last, 1), terms, last, add, 0.0, lanes)
        else:
            order = (*range(last - 1), last, last - 1)
            a, b = a.permute(order), b.permute(order)
            reduce(code, filled.insert(last - 1, 1), Formula("mul", (a, b), a.shape), last - 1, add, 0.0, lanes)
        if len(args) > 2:
            fill(code, target, Formula("add", (target, args[2]), target.shape), lanes)
        return target

    def _softmax(self, source: Value, place: Strided, dim: int) -> None:
        source = self._stored(source)
        order = [d for d in range(len(source.shape)) if d != dim] + [dim]
        x, y = source.permute(order), place.permute(order)
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
        wide = target.steps(last) <= {0, 1} and value.steps(last) <= {0, 1}
        lanes = self.lanes if wide and target.shape[last] > 1 else 1

        def body(starts: list[Expr], mask: Expr | None) -> None:
            if lanes == 1:
                items = [value.scalar(self.code, [*index[:last], s]).items[0] for s in starts]
                vectors = Bundle(self.code, items, 1)
            else:
                vectors = value.vectors(self.code, index, last, starts, lanes, mask)
            for start, item in zip(starts, function(vectors).items, strict=True):
                target.store(self.code, [*index[:last], 0], last, start, item, lanes, mask)

        sweep(self.code, target.shape[last], lanes, body)

    def _layer_norm(self, args: list[Value | float], place: Strided, eps: float) -> None:
        x, weight, bias = (self._stored(a) for a in args if isinstance(a, Value))
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
            line = Strided(place.buffer, place.at(index), (extent,), place.strides[last:])
            fill(code, line, Formula("add", (Formula("mul", (scaled, weight), (extent,)), bias), (extent,)), self.lanes)

    def _argmax(self, source: Value, place: Strided, dim: int) -> None:
        """The first index of the largest element; of the first NaN if there is one."""
        code = self.code
        source = self._stored(source)
        shape = (*source.shape[:dim], 1, *source.shape[dim + 1 :], 2)
        target = Strided(place.buffer, place.start, shape, contiguous(shape))
        with nest(code, shape[:-1]) as index:
            highest = reduce_line(code, source, index, dim, maximum, -INFINITY, self.lanes)
            places = Line(source, index, lambda v: v, dim, highest)
            first = reduce_line(code, places, [0], 0, lambda a, b: a.map(tirx.Min, b), INFINITY, self.lanes)
            word = tirx.reinterpret("float32", tirx.Cast("int32", first))
            target.store(code, [*index, 0], -1, 0, word, 1, None)
            target.store(code, [*index, 1], -1, 0, splat(0.0, 1), 1, None)


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
            found = self.source.scalar(code, inner)
        else:
            found = self.source.vectors(code, inner, self.dim, starts, lanes, mask)
        if self.highest is None:
            return self.function(found)
        items = []
        for item, start in zip(found.items, starts, strict=True):
            here = position(code, start if axis >= 0 else index[0], lanes)
            equal = tirx.Select(tirx.EQ(item, splat(self.highest, lanes)), here, splat(INFINITY, lanes))
            items.append(tirx.Select(item <= splat(INFINITY, lanes), equal, here))
        return found.with_items(items)


def kept(place: Strided, source: Value, dim: int) -> Strided:
    """The place of a reduction's result with the reduced dimension kept as 1."""
    return place if len(place.shape) == len(source.shape) else place.insert(dim, 1)
