"""Products of two row operands, which both differ from row to row of the batch: instance after instance, tiles in registers.

There are three forms, by how the right operand lies in memory:
- columns contiguous: outer products, an element of the left operand (in all lanes) times a vector of columns;
- reduction contiguous, few rows (matrix times vector): dot products, as many columns at once as a vector has lanes;
- reduction contiguous, more rows: transposed into scratch first (a 16x16 square is 64 shuffles), then outer products.
"""

from __future__ import annotations

from typing import Any

from tvm import tirx

from backends.acrobat.kernels.cpu.code import Code, Expr, load, plus, times
from backends.acrobat.kernels.cpu.epilogue import EpilogueWriter, Site
from backends.acrobat.kernels.cpu.operands import Interface, walk
from backends.acrobat.kernels.cpu.schedule import KernelSchedule
from backends.acrobat.kernels.cpu.shuffles import lane_sums, transpose
from backends.acrobat.kernels.cpu.vectors import accumulators, first_lanes, load_vector, splat, store_vector, typed
from backends.acrobat.kernels.plan import Operand, Product


class ProductWriter:
    """Writes a kernel by the product template."""

    def __init__(self, code: Code, interface: Interface, plan: Product, lanes: int, schedule: KernelSchedule) -> None:
        self.code = code
        self.interface = interface
        self.plan = plan
        self.lanes = lanes
        self.epilogue = EpilogueWriter(code, interface, plan.epilogue, lanes)
        self.vector_type = typed("float32", lanes)
        self.outer = plan.along_columns(lanes)
        self.schedule = schedule
        self.padded = -(-plan.columns // lanes) * lanes
        self.scratch_size = 0 if self.outer or schedule.dots else plan.depth * self.padded
        self.parts = plan.heads

    def write(self) -> None:
        """Writes the loops over the rows of the call and the heads of its parts, with the form that fits the right operand."""
        code, interface, plan = self.code, self.interface, self.plan
        with code.loop(interface.row_end - interface.row_begin, "row") as r, code.loop(interface.part_count, "head") as p:
            self.instance = code.let(interface.row_begin + r)
            self.head = code.let(interface.first_part + p)
            self.left, self.left_start = self._start(plan.left)
            self.right, self.right_start = self._start(plan.right)
            self.bias: tuple[Any, Expr] | None = interface.operand(plan.bias, self.instance) if plan.bias else None
            if self.schedule.dots:
                self._each_vector(1, self._dots)
                return
            if self.outer:
                self.columns = lambda v: walk(plan.right.outer, times(v, self.lanes))
                self.step = plan.right.stride
            else:
                self._transpose()
                self.right, self.right_start, self.step = interface.scratch, 0, self.padded
                self.columns = lambda v: times(v, self.lanes)
            self._each_vector(self.schedule.panels, self._rows)

    def _start(self, operand: Operand) -> tuple[Any, Expr]:
        """The buffer that has an operand, and where this row's and head's matrix begins in it."""
        buffer, start = self.interface.operand(operand.param, self.instance)
        return buffer, self.code.let(plus(start, walk(operand.heads, self.head)))

    def _each_vector(self, width: int, body: Any) -> None:
        """Calls body(first vector, how many, mask) for all columns, `width` vectors at a time; the last may be partial."""
        full, tail = divmod(self.plan.columns, self.lanes)
        if full // width:
            with self.code.loop(full // width, "columns") as c:
                body(times(c, width), width, None)
        if full % width:
            body(full - full % width, full % width, None)
        if tail:
            body(full, 1, first_lanes(tail, self.lanes))

    def _rows(self, vector: Expr, width: int, mask: Expr | None) -> None:
        """Outer products for all rows: tiles of the schedule's rows, then of half as many for the rest, and so on."""
        first, tile = 0, self.schedule.rows
        while first < self.plan.rows:
            if tiles := (self.plan.rows - first) // tile:
                with self.code.loop(tiles, "tile") as t:
                    self._tile(tile, plus(times(t, tile), first), vector, width, mask)
                first += tiles * tile
            tile //= 2

    def _tile(self, rows: int, row: Expr, vector: Expr, width: int, mask: Expr | None) -> None:
        code, plan, lanes = self.code, self.plan, self.lanes
        sums = code.local(rows * width * lanes)
        for v in range(width):
            start = self._initial(plus(vector, v), mask)
            for i in range(rows):
                store_vector(code, sums, (i * width + v) * lanes, start, lanes)
        starts = [code.let(plus(self.left_start, walk(plan.left.outer, plus(row, i)))) for i in range(rows)]
        columns = [code.let(plus(self.right_start, self.columns(plus(vector, v)))) for v in range(width)]
        read_mask = mask if self.outer else None
        with code.loop(plan.depth, "k") as k:
            right = []
            for v in range(width):
                item = load_vector(self.right, plus(columns[v], times(k, self.step)), lanes, read_mask)
                right.append(code.let(item, self.vector_type))
            for i in range(rows):
                x = code.let(splat(load(self.left, plus(starts[i], times(k, plan.left.stride))), lanes), self.vector_type)
                for v in range(width):
                    at = (i * width + v) * lanes
                    store_vector(code, sums, at, load_vector(sums, at, lanes) + x * right[v], lanes)
        base = times(self.head, plan.rows)
        sites = []
        for i in range(rows):
            for v in range(width):
                gate = load_vector(sums, (i * width + v) * lanes, lanes)
                sites.append(Site(self.instance, plus(base, plus(row, i)), plus(vector, v), (gate,), mask))
        self.epilogue.write(sites)

    def _initial(self, vector: Expr, mask: Expr | None) -> Expr:
        """The bias of a vector of columns, to which products are added; 0 if there is none."""
        if self.bias is None:
            return splat(0.0, self.lanes)
        item = load_vector(self.bias[0], plus(self.bias[1], times(vector, self.lanes)), self.lanes, mask)
        return self.code.let(item, self.vector_type)

    def _dots(self, vector: Expr, width: int, mask: Expr | None) -> None:
        """Dot products of every row with one vector of columns, as many at a time as there are lanes. `width` is always 1."""
        code, plan, lanes = self.code, self.plan, self.lanes
        first = times(vector, lanes)
        count = lanes if mask is None else plan.columns % lanes
        columns = [code.let(plus(self.right_start, walk(plan.right.outer, plus(first, i)))) for i in range(count)]
        with code.loop(plan.rows, "r") as row:
            start = code.let(plus(self.left_start, walk(plan.left.outer, row)))
            sums = accumulators(code, lanes, lanes)

            def step(k: Expr, valid: Expr | None) -> None:
                x = self._load_or_zero(self.left, plus(start, k), valid)
                for i in range(count):
                    y = self._load_or_zero(self.right, plus(columns[i], k), valid)
                    store_vector(code, sums, i * lanes, load_vector(sums, i * lanes, lanes) + x * y, lanes)

            full, tail = divmod(plan.depth, lanes)
            if full:
                with code.loop(full, "k") as k:
                    step(times(k, lanes), None)
            if tail:
                step(full * lanes, first_lanes(tail, lanes))
            rows = [code.let(load_vector(sums, i * lanes, lanes), self.vector_type) for i in range(lanes)]
            gate = code.let(lane_sums(code, rows, len(rows)) + self._initial(vector, mask), self.vector_type)
            self.epilogue.write([Site(self.instance, plus(times(self.head, plan.rows), row), vector, (gate,), mask)])

    def _load_or_zero(self, buffer: Any, start: Expr, mask: Expr | None) -> Expr:
        """The vector from `start` on, with 0 in the lanes outside the mask."""
        item = load_vector(buffer, start, self.lanes, mask)
        if mask is not None:
            item = tirx.Select(mask, item, splat(0.0, self.lanes))
        return self.code.let(item, self.vector_type)

    def _transpose(self) -> None:
        """Copies the right operand to scratch as [depth][padded columns]."""
        code, plan, lanes = self.code, self.plan, self.lanes

        def squares(vector: Expr, width: int, mask: Expr | None) -> None:
            first = times(vector, lanes)
            count = lanes if mask is None else plan.columns % lanes
            columns = [
                code.let(plus(self.right_start, walk(plan.right.outer, plus(first, min(i, count - 1))))) for i in range(lanes)
            ]

            def square(k: Expr, valid: Expr | None, rows: int) -> None:
                vectors = [self._load_or_zero(self.right, plus(c, k), valid) for c in columns]
                for i, item in enumerate(transpose(code, vectors)[:rows]):
                    store_vector(code, self.interface.scratch, plus(times(plus(k, i), self.padded), first), item, lanes)

            full, tail = divmod(plan.depth, lanes)
            if full:
                with code.loop(full, "k") as k:
                    square(times(k, lanes), None, lanes)
            if tail:
                square(full * lanes, first_lanes(tail, lanes), tail)

        self._each_vector(1, squares)
