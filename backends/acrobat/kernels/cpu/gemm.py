"""The GEMM template: `linear` with a weight that the batch shares. It gathers the rows of the input, keeps a tile of the result
in registers and applies the epilogue there.

The weight is packed in panels of one vector of units, all gates of a unit side by side, so a tile holds whole lanes
(`lanes.py`). Loops: blocks of rows > groups of panels (a part of the kernel; they stay in the second-level cache) > tiles of
panels > tiles of rows (or the other way round) > reduction. A tile of 8 rows and 2 or 3 vectors has 16 to 24 accumulators:
enough to cover the latency of FMA, with few enough loads. The rows left over go through one more tile, the smallest that holds
them, with more panels instead; if it has more rows than are left, it computes the last row several times. That costs less than
several smaller tiles: a pass over the weights for 1 or 2 rows is bound by reading them. All sizes are the schedule's.

A call whose rows fit one tile needs each weight only once, so it goes through the panels of all parts in one loop. (Choosing
the tile for each part anew took 12 % of NestedRNN at batch 8, whose launches have 1 to 8 rows, and 7 % of TreeLSTM.)
"""

from __future__ import annotations

from tvm import tirx

from backends.acrobat.kernels.cpu.code import Code, Expr, div, i64, load, mod, plus, times
from backends.acrobat.kernels.cpu.epilogue import EpilogueWriter, Site
from backends.acrobat.kernels.cpu.operands import Interface, walk
from backends.acrobat.kernels.cpu.schedule import PREFETCH_ROWS, KernelSchedule, panel_count
from backends.acrobat.kernels.cpu.target import CpuTarget, Tile
from backends.acrobat.kernels.cpu.vectors import first_lanes, load_vector, splat, store_vector, typed
from backends.acrobat.kernels.packing import Packing, panels
from backends.acrobat.kernels.plan import Gemm


class GemmWriter:
    """Writes a kernel by the GEMM template."""

    def __init__(self, code: Code, interface: Interface, plan: Gemm, target: CpuTarget, schedule: KernelSchedule) -> None:
        self.code = code
        self.interface = interface
        self.plan = plan
        self.lanes = lanes = target.lanes
        self.schedule = schedule
        self.tiles = schedule.tiles(plan.epilogue.gates, target)
        self.panels = panel_count(plan.epilogue.units, target)
        self.parts = self.panels // schedule.group
        self.epilogue = EpilogueWriter(code, interface, plan.epilogue, lanes)

    def write(self) -> None:
        """Writes the loop over the blocks of the call's product rows. A call has `row_end - row_begin` instances."""
        code, rows, block = self.code, self.plan.rows, self.schedule.block
        begin = code.let(times(self.interface.row_begin, rows))
        total = code.let(times(self.interface.row_end - self.interface.row_begin, rows))
        with code.loop(div(plus(total, block - 1), block), "block") as b:
            before = code.let(times(b, block))
            self._rows(code.let(begin + before), code.let(tirx.Min(total - before, i64(block))))

    def _rows(self, first: Expr, total: Expr) -> None:
        """All parts of one block: `total` product rows from `first` on. Parts of a call that fits one tile are one loop."""
        code, rows = self.code, self.plan.rows
        tiles = self.tiles
        main = tiles[0]
        remainder = code.let(mod(total, main.rows))
        single, parts = total <= i64(main.rows), self.interface.part_count
        at_once = code.let(tirx.Select(single, parts, i64(1)))
        with code.loop(code.let(tirx.Select(single, i64(1), parts)), "part") as part:
            panel = code.let(times(self.interface.first_part + part, self.schedule.group))
            self._panels(main, panel, at_once, first, div(total, main.rows))
            if rows % main.rows == 0:
                return
            start, last = code.let(first + total - remainder), code.let(first + total - 1)
            for tile, smaller in zip(tiles, [*(t.rows for t in tiles[1:]), 0], strict=True):
                with code.when(remainder > i64(smaller)), code.when(remainder <= i64(tile.rows)):
                    self._panels(tile, panel, at_once, start, 1, last if tile.rows - smaller > 1 else None)

    def _panels(self, tile: Tile, panel: Expr, parts: Expr, first: Expr, count: Expr, last: Expr | None = None) -> None:
        """Loops over `count` tiles of rows from `first` on, and over the panels of `parts` parts from `panel` on."""
        code = self.code
        across = code.let(times(parts, self.schedule.group // tile.panels))
        if self.schedule.order == "rows":
            with code.loop(count, "rows") as block:
                row = code.let(plus(first, times(block, tile.rows)))
                with code.loop(across, "panel") as p:
                    self._tile(tile, row, code.let(plus(panel, times(p, tile.panels))), last)
            return
        with code.loop(across, "panel") as p:
            at = code.let(plus(panel, times(p, tile.panels)))
            with code.loop(count, "rows") as block:
                ahead = self._ahead(tile, at, block) if self.schedule.next_panels and tile == self.tiles[0] else None
                self._tile(tile, code.let(plus(first, times(block, tile.rows))), at, last, ahead)

    def _ahead(self, tile: Tile, panel: Expr, number: Expr) -> Expr:
        """Where the weights begin that tile of rows `number` fetches for the panels behind those from `panel` on: one vector in
        each step, so as many tiles as a tile has vectors fetch all of them. Later tiles fetch the last again, which costs less
        than to branch. (To fetch half or a quarter as much in each step, by more tiles, made no difference.)"""
        size, most = self.plan.depth * self.lanes, tile.panels * self.plan.epilogue.gates
        begin = times(plus(panel, tile.panels), self.plan.epilogue.gates * size)
        return self.code.let(plus(begin, times(tirx.Min(i64(number), i64(most - 1)), size)))

    def _tile(self, tile: Tile, row: Expr, panel: Expr, last: Expr | None, ahead: Expr | None = None) -> None:
        """One tile. `last` is the last row of the call, or None if the tile cannot reach beyond it. `ahead`: where the weights
        begin that are fetched meanwhile, or None."""
        code, plan, lanes, gates = self.code, self.plan, self.lanes, self.plan.epilogue.gates
        vectors = [(p, g) for p in range(tile.panels) for g in range(gates)]
        sums = code.local(tile.rows * len(vectors) * lanes)
        instances, rows = [], []
        for i in range(tile.rows):
            own = plus(row, i) if last is None else code.let(tirx.Min(plus(row, i), last))
            instances.append(code.let(div(own, plan.rows)))
            rows.append(0 if plan.rows == 1 else code.let(mod(own, plan.rows)))

        def at(i: int, v: int) -> int:
            return (i * len(vectors) + v) * lanes

        self.epilogue.prefetch(
            [Site(i, r, plus(panel, p), (), None) for i, r in zip(instances, rows, strict=True) for p in range(tile.panels)]
        )
        for v, (p, g) in enumerate(vectors):
            start = self._bias(plus(panel, p), g)
            for i in range(tile.rows):
                store_vector(code, sums, at(i, v), start, lanes)
        depth = 0  # of the segments before
        weight = self.interface.operands[plan.weight][0]
        for segment in plan.segments:
            starts = []
            for instance, t in zip(instances, rows, strict=True):
                buffer, start = self.interface.operand(segment.param, instance)
                starts.append(code.let(plus(start, walk(segment.rows, t))))
            with code.loop(segment.count, "segment") as s, code.loop(segment.width, "k") as k:
                step = plus(plus(depth, times(s, segment.width)), k)
                columns = []
                for p, g in vectors:
                    column = times(plus(times(plus(panel, p), plan.depth), step), gates * lanes)
                    columns.append(code.let(load_vector(weight, plus(column, g * lanes), lanes), typed("float32", lanes)))
                    if self.schedule.prefetch and tile.rows <= PREFETCH_ROWS:
                        code.prefetch(weight, plus(column, g * lanes + self.schedule.prefetch * gates * lanes))
                if ahead is not None:
                    code.prefetch(weight, plus(ahead, times(step, lanes)), level=2)
                for i in range(tile.rows):
                    x = splat(load(buffer, plus(plus(starts[i], times(s, segment.step)), k)), lanes)
                    x = code.let(x, typed("float32", lanes))
                    for v in range(len(vectors)):
                        store_vector(code, sums, at(i, v), load_vector(sums, at(i, v), lanes) + x * columns[v], lanes)
            depth += segment.count * segment.width
        sites = []
        for i in range(tile.rows):
            for p in range(tile.panels):
                values = tuple(load_vector(sums, at(i, p * gates + g), lanes) for g in range(gates))
                sites.append(Site(instances[i], rows[i], plus(panel, p), values, self._mask(plus(panel, p))))
        self.epilogue.write(sites)

    def _bias(self, panel: Expr, gate: int) -> Expr:
        """The bias of a gate's vector of units, to which products are added; 0 if there is none."""
        if not self.plan.bias:
            return splat(0.0, self.lanes)
        gates = self.plan.epilogue.gates
        start = plus(times(panel, gates * self.lanes), gate * self.lanes)
        value = load_vector(self.interface.operands[self.plan.bias][0], start, self.lanes)
        return self.code.let(value, typed("float32", self.lanes))

    def _mask(self, panel: Expr) -> Expr | None:
        """The lanes of a panel that are units, not padding; None if no panel has padding."""
        units = self.plan.epilogue.units
        return None if units == self.panels * self.lanes else first_lanes(units - panel * self.lanes, self.lanes)


def packing(plan: Gemm, target: CpuTarget) -> Packing:
    """How the weight and the bias of a product are packed."""
    return panels(plan.epilogue.gates, target.lanes, panel_count(plan.epilogue.units, target))
