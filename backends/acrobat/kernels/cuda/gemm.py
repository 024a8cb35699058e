"""Products with a shared weight: the struct that describes a kernel to `few_rows` (few.cuh) and `many_rows` (tiled.cuh)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cuda.epilogue import CudaEpilogueWriter
from backends.acrobat.kernels.cuda.schedule import LANES, THREADS, CudaSchedule, gemm_tile, panel_count, widest
from backends.acrobat.kernels.cuda.text import Addresses, indented, instance_of, walk
from backends.acrobat.kernels.packing import Packing, layouts, panels
from backends.acrobat.kernels.plan import Gemm, plan_gemm
from backends.acrobat.options import Precision


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A kernel's definitions, the body of its tile function, and the sizes of its tiles, which `CudaCode` explains."""

    definitions: list[str]
    body: list[str]
    tile_rows: int
    tile_columns: int
    product_rows: int
    shared_bytes: int
    packs: dict[str, Packing]
    blocks: int | None = None
    """The most blocks that may compute tiles at once, if each block has memory of its own."""
    ahead: tuple[str, ...] | None = ()
    """What the tile function does before it waits for the barrier, where it reads what no other block writes; None if the body
    has that wait within it."""


def plan_of(kernel: Kernel) -> tuple[Gemm, int] | None:
    """The plan and the number of lanes that it is for."""
    return widest(plan_gemm, kernel)


def write(kernel: Kernel, out_mode: Mode, symbol: str, schedule: CudaSchedule, precision: Precision) -> WrittenText:
    """The kernel's text. Static assertions in it check that sizes computed here are those of the headers."""
    plan_and_lanes = plan_of(kernel)
    assert plan_and_lanes
    plan, lanes = plan_and_lanes
    addresses = Addresses(kernel, out_mode)
    gates, units = plan.epilogue.gates, plan.epilogue.units
    bias = ""
    if plan.bias:
        bias = f"weight(a.p{addresses.number[plan.bias]} + (unit / {LANES} * {gates} + g) * {LANES} + unit % {LANES} + j)"
    fields = {
        "kRows": plan.rows,
        "kDepth": plan.depth,
        "kGates": gates,
        "kUnits": units,
        "kLanes": lanes,
        "kSegments": len(plan.segments),
        "kFours": int(all(v % LANES == 0 for s in plan.segments for v in (s.width, s.step))),
    }
    lines = [
        f"struct {symbol} {{",
        f"    using Args = {symbol}_args;",
        *(f"    static constexpr int {name} = {value};" for name, value in fields.items()),
        f"    static ACROBAT_DEVICE const float* weights(const Args& a) {{ return a.p{addresses.number[plan.weight]}; }}",
        *indented(_starts(plan, addresses)),
        *indented(_place(plan)),
        *indented(_runs(plan)),
        *indented(CudaEpilogueWriter(addresses, plan.epilogue, plan.rows, lanes).write(bias)),
        "};",
    ]
    height, across = gemm_tile(schedule, units)
    if schedule.template == "few":
        call = f"few_rows<{symbol}, {schedule.rows}, {schedule.panels}, {schedule.lanes}>(a, tile, shared, thread, barrier);"
        shared = few_shared(plan, schedule)
        check = f"Few<{symbol}, {schedule.rows}, {schedule.panels}, {schedule.lanes}>"
    else:
        shape = f"<{symbol}, {schedule.rows}, {schedule.panels}, {POLICY[precision]}>"
        call = f"many_rows{shape}(a, tile, shared, thread);"
        shared = ring_bytes(schedule, gates, precision) + 8 * len(plan.segments) * 16 * schedule.rows
        check = f"Many{shape}"
    agree = [f"static_assert({check}::kSharedBytes == {shared} && {check}::kColumns == {across});"]
    packed = dict.fromkeys((plan.weight, plan.bias), panels(gates, LANES, panel_count(units)))
    ahead = None if schedule.template == "few" else ()
    return WrittenText(lines + agree, [call], height, across, plan.rows, shared, layouts(kernel, packed), ahead=ahead)


FEW_ELEMENTS = 16384
"""The most elements of the input that a tile of few rows has in shared memory at once, as in Few::kChunk: 64 KiB, which every
device that kernels are made for can give to a block."""


def few_shared(plan: Gemm, schedule: CudaSchedule) -> int:
    """The same number of bytes as Few::kSharedBytes in few.cuh."""
    chunk = plan.depth if plan.depth * schedule.rows <= FEW_ELEMENTS else FEW_ELEMENTS // schedule.rows // 32 * 32
    slices = 8 // schedule.panels
    width = schedule.panels * 32 // schedule.lanes * LANES
    sums = slices * plan.epilogue.gates * schedule.rows * width if slices > 1 else 0
    return 4 * (schedule.rows * (-(-chunk // 4) * 4) + sums)


POLICY: Mapping[Precision, str] = {"fp32": "Exact", "tf32": "Tf32", "bf16": "Bf16"}
"""The struct in exact.cuh or mma.cuh by which a precision multiplies tiles."""
STEP_PAD = {2: 12, 4: 4}
"""Tiled::kStepPad of tensor.cuh, by the number of gates."""


def ring_bytes(schedule: CudaSchedule, gates: int, precision: Precision) -> int:
    """The same number of bytes as Tiled::kRingBytes in exact.cuh or tensor.cuh."""
    rows, columns = 16 * schedule.rows, 64 * schedule.panels
    if precision == "fp32":
        ring = 4 * 8 * (rows + 4 + gates * (columns + 4))
        return 4 * max(ring, 4 * schedule.rows * schedule.panels * gates * THREADS)
    ring = 3 * (rows * (16 + 4) + 16 * (gates * (columns + 4) + STEP_PAD.get(gates, 0)))
    return 4 * max(ring, rows * (gates * columns + 8))


def _starts(plan: Gemm, addresses: Addresses) -> list[str]:
    """The function `start`: where a segment of the input begins in a product row, in elements from the base."""
    lines = ["static ACROBAT_DEVICE int64_t start(const Args& a, int segment, int row) {"]
    lines += indented(instance_of(plan.rows))
    for i, s in enumerate(plan.segments):
        condition = "" if i + 1 == len(plan.segments) else f"if (segment == {i}) "
        lines.append(f"    {condition}return {addresses.offset(s.param, 'instance')} + {walk(s.rows, 'part')};")
    return [*lines, "}"]


def _place(plan: Gemm) -> list[str]:
    """The function `place`: the segment that element `k` of a product row lies in, and where it lies after its `start`."""
    lines, begin = ["static ACROBAT_DEVICE void place(int k, int& segment, int& at) {"], 0
    for i, s in enumerate(plan.segments):
        within = f"k - {begin}" if begin else "k"
        at = within if s.count == 1 else f"({within}) / {s.width} * {s.step} + ({within}) % {s.width}"
        begin += s.count * s.width
        condition = "" if i + 1 == len(plan.segments) else f"if (k < {begin}) "
        lines.append(f"    {condition}{{ segment = {i}, at = {at}; return; }}")
    return [*lines, "}"]


def _runs(plan: Gemm) -> list[str]:
    """The struct `Input`, which says where the segments of a product row begin, the function that fills it, which reads tables
    only, and the function `runs`: calls f(k, pointer, width) for each stretch of the row that lies contiguously in memory."""
    starts = ", ".join(f"start(a, {i}, row)" for i in range(len(plan.segments)))
    lines = [
        f"struct Input {{ int64_t start[{len(plan.segments)}]; }};",
        f"static ACROBAT_DEVICE Input input(const Args& a, int row) {{ return {{{{{starts}}}}}; }}",
        "template <class F>",
        "static ACROBAT_DEVICE void runs(const Args& a, const Input& input, F&& f) {",
    ]
    begin = 0
    for i, s in enumerate(plan.segments):
        start = f"a.base + input.start[{i}]"
        if s.count == 1:
            lines.append(f"    f({begin}, {start}, {s.width});")
        else:
            lines += [
                f"    for (int s = 0; s < {s.count}; ++s)",
                f"        f({begin} + s * {s.width}, {start} + s * {s.step}, {s.width});",
            ]
        begin += s.count * s.width
    return [*lines, "}"]
