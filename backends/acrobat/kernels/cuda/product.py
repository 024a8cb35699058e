"""Products of two row operands: the struct that describes a kernel to the templates in tiled.cuh (`both_rows`) and dots.cuh."""

from __future__ import annotations

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cuda.epilogue import CudaEpilogueWriter
from backends.acrobat.kernels.cuda.gemm import POLICY, WrittenText, ring_bytes
from backends.acrobat.kernels.cuda.schedule import WARPS, CudaSchedule, resident_blocks, widest
from backends.acrobat.kernels.cuda.text import Addresses, indented, walk
from backends.acrobat.kernels.packing import layouts
from backends.acrobat.kernels.plan import Operand, Product, plan_product
from backends.acrobat.options import Precision


def plan_of(kernel: Kernel) -> tuple[Product, int] | None:
    """The plan and the number of lanes that it is for."""
    return widest(plan_product, kernel)


def write(kernel: Kernel, out_mode: Mode, symbol: str, schedule: CudaSchedule, precision: Precision) -> WrittenText:
    """The kernel's text: a product of two row operands."""
    plan_and_lanes = plan_of(kernel)
    assert plan_and_lanes
    plan, lanes = plan_and_lanes
    addresses = Addresses(kernel, out_mode)
    rows = plan.heads * plan.rows
    bias = f"*({addresses.operand(plan.bias, 'instance')} + unit + j)" if plan.bias else ""
    fields = {
        "kHeads": plan.heads,
        "kRows": plan.rows,
        "kDepth": plan.depth,
        "kColumns": plan.columns,
        "kUnits": plan.columns,
        "kLanes": lanes,
        "kLeftStep": plan.left.stride,
        "kRightStep": plan.right.stride,
    }
    definitions = [
        f"struct {symbol} {{",
        f"    using Args = {symbol}_args;",
        *(f"    static constexpr int {name} = {value};" for name, value in fields.items()),
        *indented(_operand("left", plan.left, addresses)),
        *indented(_operand("right", plan.right, addresses)),
        *indented(CudaEpilogueWriter(addresses, plan.epilogue, rows, lanes).write(bias)),
        "};",
    ]
    packs = layouts(kernel)
    if schedule.template in ("dots", "columns"):
        across = plan.heads * -(-plan.columns // 32)
        definitions.append(f"static_assert(Dots<{symbol}>::kTiles == {across});")
        call = f"few_{schedule.template}<{symbol}, {schedule.rows}>(a, tile, shared, thread);"
        sums = 4 * WARPS * 32 * schedule.rows if schedule.template == "columns" else 0
        return WrittenText(definitions, [call], 1, across, 1, sums, packs)
    height, width = 16 * schedule.rows, 64 * schedule.panels
    across = plan.heads * -(-plan.rows // height) * -(-plan.columns // width)
    shared = ring_bytes(schedule, 1, precision) + 8 * (height + width)
    shape = f"<{symbol}, {schedule.rows}, {schedule.panels}, {POLICY[precision]}>"
    both = f"Both{shape}"
    definitions.append(f"static_assert({both}::kSharedBytes == {shared} && {both}::kTiles == {across});")
    call = f"both_rows{shape}(a, tile, shared, thread);"
    resident = resident_blocks(schedule, plan.rows, 1)
    return WrittenText(definitions, [call], 1, across, 1, shared, packs, resident=resident)


def _operand(name: str, operand: Operand, addresses: Addresses) -> list[str]:
    """The function `name`: a pointer to row (or column) `i` of an operand's matrix number `head`."""
    start = addresses.operand(operand.param, "instance")
    return [
        f"static ACROBAT_DEVICE const float* {name}(const Args& a, int instance, int head, int i) {{",
        "    (void)instance, (void)head, (void)i;",
        f"    return {start} + {walk(operand.heads, 'head')} + {walk(operand.outer, 'i')};",
        "}",
    ]
