"""`linear` with a weight that the batch shares: gathers its rows, keeps a tile of the result in registers, ends with the
epilogue there.

The weight is packed in panels of one vector of units, all gates of a unit side by side, so a tile holds whole lanes (`plan`).
Loops: groups of panels (a part of the kernel; they stay in the second-level cache) > tiles of panels > tiles of rows >
reduction. A tile of 8 rows and 2 or 3 vectors has 16 to 24 accumulators, enough to cover the latency of FMA, and needs few
enough loads. The rows that are left over go through one more tile, the smallest that holds them (4, 2 or 1 rows, wider
instead); where it has more rows than are left, the last row is computed several times over. That costs less than taking the
rest bit by bit: a pass over the weights for 1 or 2 rows is bound by reading them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm import tirx

from backends.acrobat.kernels.code import Code, Expr, div, i64, load, mod, plus, times
from backends.acrobat.kernels.epilogue import EpilogueWriter, Site
from backends.acrobat.kernels.interface import Interface, walk
from backends.acrobat.kernels.packing import PLAIN, Packing, panels
from backends.acrobat.kernels.plan import Gemm
from backends.acrobat.kernels.spec import Kernel, Mode
from backends.acrobat.kernels.vectors import first_lanes, load_vector, splat, store_vector, typed

GROUP = 4
"""Panels in a part, at most."""
BLOCK_ELEMENTS = 1 << 17
"""Elements of the input that a block of rows has: half of a second-level cache of 1 MB, the rest is for panels and results."""
MIN_BLOCK = 48


@dataclass(frozen=True)
class Tile:
    rows: int
    panels: int


@dataclass(frozen=True)
class Tiling:
    """`tiles` by falling number of rows: the first is for all rows but the rest, the smallest that holds it for the rest."""

    tiles: tuple[Tile, ...]
    panels: int
    group: int

    @property
    def parts(self) -> int:
        return self.panels // self.group


MAIN = {
    16: {
        1: Tile(8, 2),
        2: Tile(8, 1),
        3: Tile(8, 1),
        4: Tile(6, 1),
        5: Tile(4, 1),
        6: Tile(4, 1),
        7: Tile(3, 1),
        8: Tile(3, 1),
    },
    8: {1: Tile(6, 2), 2: Tile(6, 1), 3: Tile(4, 1), 4: Tile(3, 1), 5: Tile(2, 1), 6: Tile(2, 1), 7: Tile(1, 1), 8: Tile(1, 1)},
}
"""By vector length and gates. 16 lanes have 32 registers, 8 lanes 16."""
ACCUMULATORS = {16: 24, 8: 12}


def tiling(gates: int, units: int, lanes: int) -> Tiling:
    count = -(-units // lanes)
    if count > GROUP:
        count += count % 2
    group = next(g for g in (GROUP, 2, 1) if count % g == 0)
    main = MAIN[lanes][gates]
    tiles = [Tile(main.rows, min(main.panels, group))]
    rows = 4
    while rows:
        if rows < main.rows:
            fitting = [w for w in (1, 2, 4) if w <= group and (w == 1 or rows * w * gates <= ACCUMULATORS[lanes])]
            tiles.append(Tile(rows, fitting[-1]))
        rows //= 2
    return Tiling(tuple(tiles), count, group)


class GemmWriter:
    def __init__(self, code: Code, interface: Interface, plan: Gemm, lanes: int) -> None:
        self.code = code
        self.interface = interface
        self.plan = plan
        self.lanes = lanes
        self.tiling = tiling(plan.epilogue.gates, plan.epilogue.units, lanes)
        self.epilogue = EpilogueWriter(code, interface, plan.epilogue, lanes)

    def write(self) -> None:
        code, rows, block = self.code, self.plan.rows, self._block()
        begin = code.let(times(self.interface.row_begin, rows))
        every = code.let(times(self.interface.row_end - self.interface.row_begin, rows))
        with code.loop(div(plus(every, block - 1), block), "block") as b:
            before = code.let(times(b, block))
            self._rows(code.let(begin + before), code.let(tirx.Min(every - before, i64(block))))

    def _block(self) -> int:
        """Rows that are taken through all panels before the next ones."""
        main = self.tiling.tiles[0].rows
        return max(BLOCK_ELEMENTS // self.plan.depth, MIN_BLOCK) // main * main

    def _rows(self, first: Expr, total: Expr) -> None:
        code, rows = self.code, self.plan.rows
        tiles = self.tiling.tiles
        main = tiles[0]
        left = code.let(mod(total, main.rows))
        with code.loop(self.interface.part_count, "part") as part:
            panel = code.let(times(self.interface.first_part + part, self.tiling.group))
            self._panels(main, panel, first, div(total, main.rows))
            if rows % main.rows == 0:
                return
            last = code.let(first + total - 1)
            for tile, smaller in zip(tiles, [*(t.rows for t in tiles[1:]), 0], strict=True):
                with code.when(left > i64(smaller)), code.when(left <= i64(tile.rows)):
                    self._panels(tile, panel, code.let(first + total - left), 1, last if tile.rows - smaller > 1 else None)

    def _panels(self, tile: Tile, panel: Expr, first: Expr, count: Expr, last: Expr | None = None) -> None:
        with self.code.loop(self.tiling.group // tile.panels, "panel") as p:
            at = self.code.let(plus(panel, times(p, tile.panels)))
            with self.code.loop(count, "rows") as block:
                self._tile(tile, self.code.let(plus(first, times(block, tile.rows))), at, last)

    def _tile(self, tile: Tile, row: Expr, panel: Expr, last: Expr | None) -> None:
        """`last` is the last row there is, where the tile may reach beyond it."""
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
        done = 0
        weight = self.interface.operands[plan.weight][0]
        for segment in plan.segments:
            starts = []
            for instance, t in zip(instances, rows, strict=True):
                buffer, start = self.interface.operand(segment.param, instance)
                starts.append(code.let(plus(start, walk(segment.rows, t))))
            with code.loop(segment.count, "segment") as s, code.loop(segment.width, "k") as k:
                step = plus(plus(done, times(s, segment.width)), k)
                columns = []
                for p, g in vectors:
                    column = times(plus(times(plus(panel, p), plan.depth), step), gates * lanes)
                    columns.append(code.let(load_vector(weight, plus(column, g * lanes), lanes), typed("float32", lanes)))
                for i in range(tile.rows):
                    x = splat(load(buffer, plus(plus(starts[i], times(s, segment.step)), k)), lanes)
                    x = code.let(x, typed("float32", lanes))
                    for v in range(len(vectors)):
                        store_vector(code, sums, at(i, v), load_vector(sums, at(i, v), lanes) + x * columns[v], lanes)
            done += segment.count * segment.width
        sites = []
        for i in range(tile.rows):
            for p in range(tile.panels):
                values = tuple(load_vector(sums, at(i, p * gates + g), lanes) for g in range(gates))
                sites.append(Site(instances[i], rows[i], plus(panel, p), values, self._mask(plus(panel, p))))
        self.epilogue.write(sites)

    def _bias(self, panel: Expr, gate: int) -> Expr:
        if not self.plan.bias:
            return splat(0.0, self.lanes)
        gates = self.plan.epilogue.gates
        start = plus(times(panel, gates * self.lanes), gate * self.lanes)
        value = load_vector(self.interface.operands[self.plan.bias][0], start, self.lanes)
        return self.code.let(value, typed("float32", self.lanes))

    def _mask(self, panel: Expr) -> Expr | None:
        units = self.plan.epilogue.units
        if units == self.tiling.panels * self.lanes:
            return None
        left: Any = units - panel * self.lanes
        return first_lanes(left, self.lanes)


def packs(kernel: Kernel, plan: Gemm, lanes: int) -> dict[str, Packing]:
    """How each shared operand is packed."""
    packing = panels(plan.epilogue.gates, lanes, tiling(plan.epilogue.gates, plan.epilogue.units, lanes).panels)
    shared = [p.name for p in kernel.params if p.mode is Mode.SHARED]
    return {name: packing if name in (plan.weight, plan.bias) else PLAIN for name in shared}
