"""The row-wise template takes any kernel and computes one row after another. Each operation is a loop over its elements, in
vectors along the last dimension where addresses allow.

Element-wise operations that are used once are computed where they are used. Moves of values in memory are views. Every other
value goes to scratch. Products are sums of products here: right, not fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tvm import tirx

from backends.acrobat.core.ops import ITEMWISE, LISTS, OPS, Fusion
from backends.acrobat.core.units import Instr, Kernel, Mode
from backends.acrobat.kernels.cpu.activations import maximum, minimum
from backends.acrobat.kernels.cpu.code import Code, Expr, i64, load, plus, times
from backends.acrobat.kernels.cpu.lookahead import LINE, Lists
from backends.acrobat.kernels.cpu.loops import Combine, fill, reduce
from backends.acrobat.kernels.cpu.operands import Interface
from backends.acrobat.kernels.cpu.row_operations import INFINITY, RowOperations, add
from backends.acrobat.kernels.cpu.segments import CHUNK, SegmentWriter
from backends.acrobat.kernels.cpu.shared_attention import FEWEST, MOST, SharedAttentionWriter
from backends.acrobat.kernels.cpu.shared_lists import SharedLists
from backends.acrobat.kernels.cpu.values import Formula, ListItems, ListReduced, Strided, Value

AHEAD = 64
"""The most cache lines of an operand's next row that are prefetched."""

REDUCTIONS: dict[str, tuple[Combine, float]] = {
    "list_sum": (add, 0.0),
    "list_max": (maximum, -INFINITY),
    "list_min": (minimum, INFINITY),
}
"""How the items of a list are combined, and the result for a list without items."""


def words(t: Any) -> tuple[int, ...]:
    """A type's shape in 4-byte elements."""
    return (*t.shape, 2) if t.dtype == "int64" else t.shape


class RowWriter(RowOperations):
    """Writes a kernel, one row after another."""

    def __init__(self, code: Code, interface: Interface, lanes: int) -> None:
        super().__init__(code, interface, lanes)
        self.kernel: Kernel = interface.kernel
        self.uses: dict[str, int] = {}
        for name in (*(a for i in self.kernel.body for a in i.args if isinstance(a, str)), *self.kernel.results):
            self.uses[name] = self.uses.get(name, 0) + 1

    def write(self) -> None:
        """Writes the loop over the rows; for a lone attention, over runs of rows that share their lists."""
        code, interface = self.code, self.interface
        attention = self._lone_attention()
        if attention is None:
            with code.loop(interface.row_end - interface.row_begin, "row") as i:
                row = code.let(interface.row_begin + i)
                self._fetch_ahead(code.let(tirx.Min(row + 1, interface.row_end - 1)))
                self._row(row)
            return
        query, keys, values = (str(a) for a in attention.args)
        last = code.let(interface.row_end - i64(1))

        def lists(row: Expr) -> Lists:
            operands, _, _ = self._operands(row)
            ks, vs = operands[keys], operands[values]
            assert isinstance(ks, ListItems) and isinstance(vs, ListItems)
            return ks, vs

        for first, count in SharedLists(code, interface, [keys, values]).runs(MOST):
            own = lists(first)
            together = code.let(tirx.all(count >= i64(FEWEST), own[0].count > i64(0)), "bool")
            with code.when(together):

                def line(i: Expr, first: Expr = first) -> tuple[Strided, Strided]:
                    operands, places, _ = self._operands(code.let(tirx.Min(first + i, last)))
                    own_query = operands[query]
                    assert isinstance(own_query, Strided)
                    (place,) = places.values()
                    return own_query, place

                after = lists(code.let(tirx.Min(first + count, last)))
                shared = SharedAttentionWriter(code, self.lanes, own, after, line, count, self._room)
                shared.write(float(dict(attention.attrs)["scale"]))
            with code.when(tirx.Not(together)), code.loop(count, "row") as i:
                self._row(code.let(first + i))

    def _lone_attention(self) -> Instr | None:
        """The kernel's list attention if it has no other operation but reshapes; else None. Rows that share their lists are
        then computed together."""
        instrs = [i for i in self.kernel.body if i.op != "reshape"]
        alone = len(instrs) == 1 and instrs[0].op == "list_attention" and len(self.kernel.results) == 1
        params = {p.name for p in self.kernel.params}
        return instrs[0] if alone and set(instrs[0].args) <= params else None

    def _row(self, row: Expr) -> None:
        """Computes one row and stores its results."""
        values, places, copies = self._operands(row)
        for instr in self.kernel.body:
            values[instr.name] = self._value(instr, values, places.get(instr.name))
        for name, place in copies:
            fill(self.code, place, values[name], self.lanes)

    def _operands(self, row: Expr) -> tuple[dict[str, Value], dict[str, Strided], list[tuple[str, Strided]]]:
        """The operands of a row, where its results are written when they are computed, and where operands and results are
        copied that are results once more."""
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
        copies: list[tuple[str, Strided]] = []
        for name, at, t in zip(self.kernel.results, self.kernel.displacements, self.kernel.result_types, strict=True):
            place = Strided(interface.out, code.let(out + at), words(t))
            if name in places or name in values:
                copies.append((name, place))
            else:
                places[name] = place
        return values, places, copies

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

    def _value(self, instr: Instr, values: dict[str, Value], target: Strided | None) -> Value:
        """The value of an instruction, whose operands are in `values`. It is in `target` if one is given, which a result of the
        kernel has; else in scratch, a view of an operand, or computed where it is used."""
        args: list[Value | float] = [values[a] if isinstance(a, str) else float(a) for a in instr.args]
        attrs = dict(instr.attrs)
        match OPS[instr.op].fusion:
            case Fusion.ELEMENTWISE:
                value: Value = Formula(instr.op, args, instr.type.shape)
                return self._in_memory(value, target) if target or self.uses.get(instr.name, 0) > 1 else value
            case Fusion.CONSTANT:
                value = Formula("identity", [float(attrs["value"])], instr.type.shape)
                return self._in_memory(value, target) if target else value
            case Fusion.MOVE:
                view = self._move(instr, [a for a in args if isinstance(a, Value)], attrs, target)
                return view if target is None or view is target else self._in_memory(view, target)
            case Fusion.PRODUCT:
                return self._product(instr, [self._in_memory(a) for a in args if isinstance(a, Value)], target)
        if instr.op in LISTS:
            return self._over_list(instr, args, target)
        source = args[0]
        assert isinstance(source, Value)
        target = target or self._room(words(instr.type))
        match instr.op:
            case "softmax":
                self._softmax(source, target, attrs["dim"])
            case "layer_norm":
                self._layer_norm(args, target, attrs["eps"])
            case "argmax":
                self._argmax(source, target, attrs["dim"])
            case "sum" | "mean" | "max":
                dim = attrs["dim"]
                combine, neutral = (maximum, -INFINITY) if instr.op == "max" else (add, 0.0)
                factor = 1.0 / source.shape[dim] if instr.op == "mean" else 1.0
                reduce(self.code, keeping_dimension(target, source, dim), source, dim, combine, neutral, self.lanes, factor)
            case _:
                raise AssertionError(instr.op)
        return target

    def _over_list(self, instr: Instr, args: Sequence[Value | float], target: Strided | None) -> Value:
        """`_value` of an operation over lists, with these operands."""
        if instr.op in ITEMWISE:
            (xs,) = args
            assert isinstance(xs, ListItems)
            value = ListReduced(xs, *REDUCTIONS[instr.op])
            return self._in_memory(value, target) if target or self.uses.get(instr.name, 0) > 1 else value
        target = target or self._room(instr.type.shape)
        writer = SegmentWriter(self.code, self.lanes, self._room((CHUNK,)))
        *queries, scores, values = args
        assert isinstance(scores, ListItems) and isinstance(values, ListItems)
        if instr.op == "list_softmax":
            writer.softmax(scores, values, target)
        else:
            (query,) = (self._in_memory(a) for a in queries if isinstance(a, Value))
            if not query.is_contiguous:
                query = self._in_memory(query, self._room(query.shape))
            writer.attention(query, scores, values, target, float(dict(instr.attrs)["scale"]))
        return target

    def _move(self, instr: Instr, args: list[Value], attrs: dict[str, Any], target: Strided | None) -> Strided:
        """The result of a move: a view of its operand, or for `cat` and `stack` memory that the operands are copied to, which
        is `target` if that is given."""
        match instr.op:
            case "cat" | "stack":
                target, dim, at = target or self._room(words(instr.type)), attrs["dim"], 0
                for arg in args:
                    extent = 1 if instr.op == "stack" else arg.shape[dim]
                    piece = target.slice(dim, at, at + extent)
                    fill(self.code, piece.index(dim, 0) if instr.op == "stack" else piece, arg, self.lanes)
                    at += extent
                return target
            case "slice":
                return self._in_memory(args[0]).slice(attrs["dim"], attrs["start"], attrs["stop"])
            case "index":
                return self._in_memory(args[0]).index(attrs["dim"], attrs["i"])
            case "permute":
                extra = () if len(words(instr.type)) == len(instr.type.shape) else (len(instr.type.shape),)
                return self._in_memory(args[0]).permute((*attrs["dims"], *extra))
            case "reshape":
                source = self._in_memory(args[0])
                if not source.is_contiguous:
                    source = self._in_memory(source, self._room(source.shape))
                return source.reshape(words(instr.type))
        raise AssertionError(instr.op)


def keeping_dimension(target: Strided, source: Value, dim: int) -> Strided:
    """The place of a reduction's result with the reduced dimension kept as 1."""
    return target if len(target.shape) == len(source.shape) else target.insert(dim, 1)
