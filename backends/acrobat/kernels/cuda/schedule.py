"""Schedules of CUDA kernels: the template and the sizes of its tiles, which depend on the number of rows of a launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, log
from typing import Literal, TypeVar

from backends.acrobat.core.units import Kernel
from backends.acrobat.kernels.cuda.target import CudaTarget
from backends.acrobat.kernels.plan import Gemm, Product

THREADS = 256
WARPS = 8
LANES = 4
"""The units of a panel, since one load reads four weights."""
FEW_VALUES = 64
"""The most sums that a thread keeps in registers with the template `few`."""
VARIANTS = 6
"""The most tile shapes of one kernel, since each adds code to the walker."""
LEAST_SAVING = 0.02
"""What a further variant must save on average over all numbers of rows (natural logarithm of the time)."""
LEAST_SAVING_OF_MANY = 0.005
"""The same for products with MANY_ROWS rows for each instance, where it saves more time."""

MANY_ROWS = 128
"""A product with so many rows for each instance always has many rows. Tiles for it may be large, and its schedules are chosen
for every number of instances: there are few tiles, so how they divide among multiprocessors decides."""

P = TypeVar("P")

Template = Literal["few", "many", "both", "dots", "columns", "elements", "slices", "general"]


@dataclass(frozen=True, slots=True)
class CudaSchedule:
    """A template with its sizes, which its header calls: `few` R, WP, L (`rows`, `panels`, `lanes`); `many` and `both` RT, PT
    (`rows`, `panels`); `dots` and `columns` R (`rows`)."""

    template: Template
    rows: int = 1
    panels: int = 1
    lanes: int = 0


def widest(plan: Callable[[Kernel, int], P | None], kernel: Kernel) -> tuple[P, int] | None:
    """What `plan(kernel, lanes)` gives, and the lanes: vectors of four units if they are possible, else of one."""
    for lanes in (LANES, 1):
        if (result := plan(kernel, lanes)) is not None:
            return result, lanes
    return None


def panel_count(units: int) -> int:
    """How many panels of columns a weight with so many units has for each gate."""
    return ceil(units / LANES)


def gemm_schedules(plan: Gemm, target: CudaTarget) -> Iterator[CudaSchedule]:
    """All schedules of a product with a shared weight."""
    gates = plan.epilogue.gates
    for rows in (1, 2, 4, 8):
        if rows * LANES * gates <= FEW_VALUES:
            for warps, lanes in ((1, 32), (1, 16), (1, 8), (2, 8), (4, 8), (8, 8)):
                yield CudaSchedule("few", rows, warps, lanes)
    large = plan.rows >= MANY_ROWS and target.precision == "fp32"
    for rows in (2, 4, 8, 12) if large else (2, 4, 8):
        for panels in (1, 2, 3, 4) if large else (1, 2):
            if panels * gates <= 4 and rows * panels * gates * LANES <= target.multiprocessor.most_sums:
                yield CudaSchedule("many", rows, panels)


def gemm_tile(schedule: CudaSchedule, units: int) -> tuple[int, int]:
    """The product rows of a tile, and the number of tiles that cover the columns."""
    if schedule.template == "few":
        width = schedule.panels * 32 // schedule.lanes
        return schedule.rows, ceil(panel_count(units) / width)
    return 16 * schedule.rows, ceil(panel_count(units) / (16 * schedule.panels))


def gemm_cycles(schedule: CudaSchedule, plan: Gemm, rows: int, target: CudaTarget) -> float:
    """A prediction of the cycles for `rows` product rows between two barriers, by which schedules are chosen. A tile takes a
    fixed time for its tables, the latency of its operands and its stores; a time for its part of the weight and for that of
    the input; for its multiplications; and for exchanges of sums. The target says what each costs."""
    gates, depth, costs = plan.epilogue.gates, plan.depth, target.multiprocessor
    height, across = gemm_tile(schedule, plan.epilogue.units)
    tiles = ceil(rows / height) * across
    if schedule.template == "few":
        width = schedule.panels * 32 // schedule.lanes * LANES * gates
        values = schedule.rows * LANES
        exchanges = gates * (max(values - 1, 0) + max(schedule.lanes.bit_length() - values.bit_length(), 0)) * WARPS
        operands = (costs.few.weight * width + costs.few.input * height) * depth * 4 / costs.bytes_a_cycle
        products = costs.few.products * height * width * depth / costs.products_a_cycle
        each = costs.few.tile + operands + products + costs.few.exchange * exchanges
        each += costs.few.between_warps if schedule.panels < WARPS else 0
        return costs.step + ceil(tiles / target.sms) * each
    width = 64 * schedule.panels * gates
    if target.precision == "fp32":
        share = costs.share_of_peak[schedule.rows][schedule.panels * gates - 1]
    else:
        share = costs.on_tensor_cores[schedule.rows] * (1.0 if schedule.panels * gates > 1 else 0.8)
    products = height * width * depth / costs.products_a_cycle / share
    each = costs.tile_of_many + products + costs.operands_of_many * (width + height) * depth * 4 / costs.bytes_a_cycle
    return costs.step + ceil(tiles / target.sms) * each


ROWS = (1, 4, 8, 16, 24, 32, 48, 64, 80, 96, 128, 192, 256, 384, 512, 1024, 2048)
"""The numbers of instances for which variants are chosen; most launches of the paper's models have 1 to 256."""
ROWS_OF_MANY = (*range(1, 65), 80, 96, 128, 192, 256)
"""The same for products with MANY_ROWS rows for each instance."""
LEAST_GAIN = 0.01
"""By how much another variant must be faster to be used from a number of rows on."""


def gemm_variants(plan: Gemm, target: CudaTarget) -> tuple[tuple[int, CudaSchedule], ...]:
    """The schedules, each with the number of instances from which on it is used; the first begins at 0. They are those,
    VARIANTS at most, of which the fastest takes least for each of ROWS, on average over the logarithms of predicted times. One
    may be used for several ranges."""
    numbers, saving = (ROWS_OF_MANY, LEAST_SAVING_OF_MANY) if plan.rows >= MANY_ROWS else (ROWS, LEAST_SAVING)
    times = {s: [gemm_cycles(s, plan, n * plan.rows, target) for n in numbers] for s in gemm_schedules(plan, target)}
    candidates = {min(times, key=lambda s: times[s][i]): None for i in range(len(numbers))}

    def cost(chosen: list[CudaSchedule]) -> float:
        return sum(log(min(column)) for column in zip(*(times[s] for s in chosen), strict=True))

    selection = [min(candidates, key=lambda s: cost([s]))]
    while len(selection) < min(VARIANTS, len(candidates)):
        larger = [*selection, min(candidates, key=lambda s: cost([*selection, s]))]
        for i in range(len(larger)):  # one that was taken early may be needless beside those taken later
            rest = larger[:i] + larger[i + 1 :]
            larger = [*rest, min(candidates, key=lambda s: cost([*rest, s]))]
        if cost(selection) - cost(larger) < saving * len(numbers):
            break
        selection = larger
    out: list[tuple[int, CudaSchedule]] = []
    for i, instances in enumerate(numbers):
        fastest = min(selection, key=lambda s: times[s][i])
        if not out or times[fastest][i] < (1 - LEAST_GAIN) * times[out[-1][1]][i]:
            out.append((instances if out else 0, fastest))
    return tuple(out)


def product_schedule(plan: Product) -> CudaSchedule:
    """The schedule of a product of two row operands: a template for few rows, or tiles that are larger for larger operands."""
    if plan.rows <= 8:
        rows = next(r for r in (1, 2, 4, 8) if r >= plan.rows)
        return CudaSchedule("dots" if plan.right.stride == 1 else "columns", rows)
    rows = 8 if plan.rows > 64 else 4 if plan.rows > 32 else 2
    panels = 2 if plan.columns > 64 and rows == 8 else 1
    return CudaSchedule("both", rows, panels)
