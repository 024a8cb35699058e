"""Schedules of kernels: the sizes and orders of loops that a template leaves open. A rule gives the default; tuning tries more.

No schedule changes what a kernel computes or how weights are packed; only `dots` changes the order in which a sum is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from itertools import product
from math import log
from typing import Literal

from backends.acrobat.core.units import Kernel
from backends.acrobat.kernels.cpu.target import CpuTarget, Tile
from backends.acrobat.kernels.plan import Gemm, Product, plan_gemm, plan_product

MIN_BLOCK = 64
"""The fewest rows of a block by default, however deep the product is: as many as the runtime's smallest calls have (`blocks` in
`runtime/cpu/executor.h`). With 48, each call read all weights once more for the 16 rows that were left over."""
PREFETCH = 8
"""The steps by which tuning tries to prefetch weights."""
PREFETCH_ROWS = 3
"""Tiles of more rows need no prefetching: they compute enough while weights are loaded."""
PREDICTABLE = 0.05
"""Predicted times whose natural logarithms differ by less than about this count as equal."""

Order = Literal["panels", "rows"]


@dataclass(frozen=True, slots=True)
class KernelSchedule:
    """The sizes and orders of the loops of a kernel. `rows` and `panels` are the size of the register tile; in a product of two
    row operands `panels` is the number of vectors of columns."""

    template: Literal["gemm", "product", "rowwise"]
    rows: int = 1
    panels: int = 1
    group: int = 1
    """GEMM: panels of a part, which all rows of a block go through before the next part."""
    block: int = 0
    """GEMM: rows of a block, a multiple of `rows`."""
    rest: tuple[int, ...] = ()
    """GEMM: rows of the tiles for rows that are left over, falling to 1. The registers determine their panels."""
    order: Order = "panels"
    """GEMM: which of the tile loops is the outer one within a part."""
    prefetch: int = 0
    """GEMM: steps of the reduction by which weights are fetched ahead in tiles of few rows; 0: not at all."""
    next_panels: bool = False
    """GEMM with the order "panels": tiles of the full number of rows fetch the weights of the next panels into the second-level
    cache while they compute. The first of them would otherwise wait for weights that come from farther away."""
    dots: bool = False
    """Product: dot products along the reduction, in place of a transposed copy of the right operand."""

    @staticmethod
    def default(kernel: Kernel, target: CpuTarget) -> KernelSchedule:
        """The schedule of a kernel that is not tuned."""
        gemm = plan_gemm(kernel, target.lanes)
        if gemm:
            return default_gemm(gemm, target)
        product_plan = plan_product(kernel, target.lanes)
        return default_product(product_plan, target) if product_plan else KernelSchedule("rowwise")

    @staticmethod
    def untuned(kernel: Kernel, target: CpuTarget) -> KernelSchedule:
        """The plain loops of the kernel's template: one row, one panel and one part at a time, with no choice that was found by
        measuring. With `untuned` the search begins here (paper: the auto-scheduler's own default)."""
        gemm = plan_gemm(kernel, target.lanes)
        if gemm:
            return KernelSchedule("gemm", block=block_rows(gemm.depth, 1, target))
        return KernelSchedule("product" if plan_product(kernel, target.lanes) else "rowwise")

    def tiles(self, gates: int, target: CpuTarget) -> tuple[Tile, ...]:
        """GEMM: the tiles by falling number of rows. The first is used as long as there are enough rows for it; the rows that
        are then left over go through the smallest tile that holds them."""
        most = target.registers.accumulators
        tiles = [Tile(self.rows, self.panels)]
        for rows in self.rest:
            fitting = [w for w in (1, 2, 4) if self.group % w == 0 and (w == 1 or rows * w * gates <= most)]
            tiles.append(Tile(rows, fitting[-1]))
        return tuple(tiles)


def panel_count(units: int, target: CpuTarget) -> int:
    """The panels that a weight is packed in, whatever the schedule: an even number where they are more than those of a part, so
    that groups divide it."""
    count = -(-units // target.lanes)
    return count + count % 2 if count > target.registers.most_panels else count


def block_rows(depth: int, rows: int, target: CpuTarget) -> int:
    """The default number of rows of a block, all of which go through all panels before the next block begins: as many as half
    of the second-level cache holds of the input, in whole tiles of `rows`. The other half is for panels and results."""
    elements = target.second_level // 2 // 4
    return max(elements // depth, MIN_BLOCK) // rows * rows


def rest_rows(rows: int) -> tuple[int, ...]:
    """The rows of the tiles for what is left over beside a tile of `rows`: one for each number up to 6, and 8. (Where only one
    number can reach a tile, LLVM knows it, so 7 rows cost 7 in a tile of 8.) Measured against tiles of 4, 2 and 1 rows on Zen
    5, kernels of TreeLSTM and NestedRNN, hidden 256: 5, 6, 7, 13 and 29 rows take 0.67, 0.77, 0.88, 0.81, 0.90 of the time; 3
    rows 0.96 to 1.06, where reading the weights takes most of it. A kernel takes 0.07 to 0.12 s more to compile."""
    return tuple(r for r in (8, 6, 5, 4, 3, 2, 1) if r < rows - 1 or r == 1 < rows)


def default_gemm(plan: Gemm, target: CpuTarget) -> KernelSchedule:
    """The schedule by rule of a product with a shared weight."""
    count = panel_count(plan.epilogue.units, target)
    group = next(g for g in (target.registers.most_panels, 2, 1) if count % g == 0)
    main = target.registers.tiles[plan.epilogue.gates - 1]
    block = block_rows(plan.depth, main.rows, target)
    panels = min(main.panels, group)
    ahead = fetches_next_panels(plan, count > group, target)
    return KernelSchedule("gemm", main.rows, panels, group, block, rest_rows(main.rows), next_panels=ahead)


def fetches_next_panels(plan: Gemm, several_parts: bool, target: CpuTarget) -> bool:
    """The default of `next_panels`: for deep products of several parts whose input is one value, as a transformer's are. (Cells
    of recurrent networks, whose input is put together of several values, mostly run few rows at a time, which is too short to
    fetch anything.)"""
    return plan.depth >= target.registers.deep and several_parts and len(plan.segments) == 1


def default_product(plan: Product, target: CpuTarget) -> KernelSchedule:
    """The schedule by rule of a product of two row operands."""
    widest = 2 if plan.rows >= 4 else 4
    panels = min(widest, max(1, plan.columns // target.lanes))
    dots = can_use_dots(plan, target.lanes) and plan.rows <= target.registers.dot_rows
    return KernelSchedule("product", target.registers.product_rows, panels, dots=dots)


def can_use_dots(plan: Product, lanes: int) -> bool:
    """Whether dot products along the reduction are possible, and the only other way is a transposed copy."""
    return not plan.along_columns(lanes) and plan.left.stride == 1


def grid(kernel: Kernel, target: CpuTarget, extents: Mapping[int, float], threads: int = 1) -> list[KernelSchedule]:
    """The schedules to try beside the default one; those of a GEMM begin with the most promising. `extents`: how often each
    number of rows occurs. For several threads, none has fewer parts than the default. The row-wise template has no others."""
    gemm = plan_gemm(kernel, target.lanes)
    if gemm:
        return gemm_grid(gemm, target, extents, threads)
    product_plan = plan_product(kernel, target.lanes)
    return product_grid(product_plan, target) if product_plan else []


def gemm_grid(plan: Gemm, target: CpuTarget, extents: Mapping[int, float], threads: int) -> list[KernelSchedule]:
    """The schedules that tuning tries for such a product. `extents`: how often launches of so many rows were seen."""
    default, registers = default_gemm(plan, target), target.registers
    gates, count = plan.epilogue.gates, panel_count(plan.epilogue.units, target)
    rows_seen = {rows * plan.rows: often for rows, often in extents.items()}
    parts = count // default.group if threads > 1 else 1
    schedules = []
    for rows, panels, group in product(registers.tried_rows, (1, 2, 4, 8), (1, 2, 4, 8, 16)):
        sums = rows * panels * gates
        # Beside its sums a tile needs registers for its vectors of weights and for one element of the input.
        fits = sums + panels * gates < registers.count and (
            sums >= registers.least_sums or (rows, panels) == (default.rows, default.panels)
        )
        if not fits or group % panels or count % group or count // group < parts:
            continue
        block = block_rows(plan.depth, rows, target)
        blocks = [block, *(b for b in [max(block // 4 // rows, 1) * rows] if b < max(rows_seen))]
        orders: tuple[Order, ...] = ("panels", "rows") if group > panels else ("panels",)
        for b, order, prefetch in product(blocks, orders, (0, PREFETCH)):
            ahead = default.next_panels and order == "panels"
            schedules.append(KernelSchedule("gemm", rows, panels, group, b, rest_rows(rows), order, prefetch, ahead))

    def promise(s: KernelSchedule) -> tuple[float, int]:
        cycles = sum(often * gemm_cycles(s, plan, rows, target) for rows, often in rows_seen.items())
        differences = sum(getattr(s, f.name) != getattr(default, f.name) for f in fields(s))
        return round(log(cycles) / PREDICTABLE), differences

    return sorted((s for s in schedules if s != default), key=promise)


def gemm_cycles(schedule: KernelSchedule, plan: Gemm, rows: int, target: CpuTarget) -> float:
    """Roughly predicted cycles, to order trials by: two FMAs or two loads a cycle, and four cycles of latency for each sum."""
    gates, depth = plan.epilogue.gates, plan.depth
    count = panel_count(plan.epilogue.units, target)

    def tile(height: int, panels: int) -> float:
        vectors = panels * gates
        return depth * max(height * vectors / 2, (height + vectors) / 2, 4.0) * count / panels

    main, *smaller = schedule.tiles(gates, target)
    remainder = rows % main.rows
    last = min((t for t in (main, *smaller) if t.rows >= remainder), key=lambda t: t.rows)
    return rows // main.rows * tile(main.rows, main.panels) + (tile(remainder, last.panels) if remainder else 0.0)


def product_grid(plan: Product, target: CpuTarget) -> list[KernelSchedule]:
    """The schedules that tuning tries for a product of two row operands."""
    default, lanes = default_product(plan, target), target.lanes
    widths = [w for w in (1, 2, 4) if w <= max(1, plan.columns // lanes)]
    schedules = [replace(default, dots=True)] if can_use_dots(plan, lanes) else []
    for rows, panels in product((8, 6, 4, 2, 1), widths):
        if rows <= max(plan.rows, 1) and rows * panels + panels < target.registers.count:
            schedules.append(KernelSchedule("product", rows, panels))
    return [s for s in schedules if s != default]
