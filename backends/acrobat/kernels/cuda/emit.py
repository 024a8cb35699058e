"""Emits kernels as CUDA C++: chooses the template, writes the struct of a kernel's arguments and its function of one tile."""

from __future__ import annotations

from functools import cache

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels import interface
from backends.acrobat.kernels.cuda import gemm, product, rowwise, stages
from backends.acrobat.kernels.cuda.gemm import WrittenText
from backends.acrobat.kernels.cuda.schedule import CudaSchedule, gemm_variants, product_schedule
from backends.acrobat.kernels.cuda.target import CudaTarget
from backends.acrobat.kernels.cuda.text import indented, members
from backends.acrobat.kernels.fusible import has_room
from backends.acrobat.kernels.interface import CudaCode, Emitted, Schedules, UnsupportedKernel, Variant, flops
from backends.acrobat.options import Kernels

SHARED_HEADER = 1024
"""The bytes of shared memory that the walker uses, before those of kernels: arguments of two steps, and three steps."""


@cache
def default_schedules(kernel: Kernel, target: CudaTarget) -> tuple[tuple[int, CudaSchedule], ...]:
    """The schedules of a kernel that is not tuned, each with the number of rows it begins at."""
    if gemm_plan := gemm.plan_of(kernel):
        return gemm_variants(gemm_plan[0], target)
    if product_plan := product.plan_of(kernel):
        return ((0, product_schedule(product_plan[0])),)
    return ((0, rowwise.schedule_of(kernel)),)


@cache
def emit(kernel: Kernel, out_mode: Mode, target: CudaTarget, schedule: CudaSchedule | None = None) -> Emitted[CudaCode]:
    """The kernel's text, with its results placed by `out_mode`; without a schedule, with the default one for the fewest rows.
    Raises UnsupportedKernel if the kernel has too many operands, or an operation that no template writes."""
    if missing := tuple(dict.fromkeys(i.op for i in kernel.body if not stages.writes(i.op))):
        advice = "put it together from operations that have one, or compile the model with device=cpu"
        raise UnsupportedKernel(kernel, "there is no kernel for it on a CUDA device", advice, missing)
    if not has_room(kernel):
        reason = f"{len(kernel.params)} operands are too many for one kernel of a CUDA device"
        raise UnsupportedKernel(kernel, reason, "put them together in parts, of at most 20 operands each")
    schedule = schedule or default_schedules(kernel, target)[0][1]
    name = symbol(kernel, out_mode, target, schedule)
    written = _write(kernel, out_mode, name, target, schedule)
    text = [
        f"// {kernel.name}: {', '.join(i.op for i in kernel.body)}",
        f"struct {name}_args {{",
        *indented([f"{m};" for m in members(kernel, out_mode)]),
        "};",
        *written.definitions,
        f"ACROBAT_DEVICE void {name}_tile(const {name}_args& a, int tile, char* shared, int thread, Barrier& barrier) {{",
        "    (void)a, (void)tile, (void)shared, (void)thread;",
        *([] if written.ahead is None else indented([*written.ahead, "barrier.wait();"])),
        *indented(written.body),
        "}",
        f"// The tiles of a call that fall to this block; {name}_args lie in shared memory at `arguments`.",
        f"ACROBAT_DEVICE void {name}_tiles(int arguments, int first, int tiles, Barrier& barrier) {{",
        f"    const {name}_args& a = *reinterpret_cast<const {name}_args*>(shared_memory() + arguments);",
        *_own_tile(written.blocks),
        "    while (tile < tiles) {",
        f"        {name}_tile(a, tile, shared_memory() + {SHARED_HEADER}, thread, barrier);",
        "        tile += blocks;",
        "        if (tile < tiles) block_sync();  // the next tile writes to shared memory",
        "    }",
        "}",
    ]
    return Emitted(
        symbol=name,
        kernel=symbol(kernel, out_mode, target),
        schedule=schedule,
        packs=written.packs,
        flops_per_row=flops(kernel),
        code=CudaCode(
            "\n".join(text), written.tile_rows, written.tile_columns, written.product_rows, SHARED_HEADER + written.shared_bytes
        ),
    )


def _own_tile(most: int | None) -> list[str]:
    """Declares a block's first tile of a call. `most`: how many blocks may compute tiles, if not all may."""
    if most is None:
        return [
            "    const int blocks = gridDim.x, thread = thread_index();",
            "    int tile = own_tile(first);",
        ]
    return [
        f"    const int blocks = smaller(gridDim.x, {most}), block = blockIdx.x, thread = thread_index();",
        "    if (block >= blocks) return;",
        "    int tile = (block + blocks - first % blocks) % blocks;",
    ]


def _write(kernel: Kernel, out_mode: Mode, name: str, target: CudaTarget, schedule: CudaSchedule) -> WrittenText:
    match schedule.template:
        case "few" | "many":
            return gemm.write(kernel, out_mode, name, schedule, target.precision)
        case "both" | "dots" | "columns":
            return product.write(kernel, out_mode, name, schedule, target.precision)
    return rowwise.write(kernel, out_mode, name, schedule, target.shared - SHARED_HEADER, target.sms)


def variants(
    kernel: Kernel, out_mode: Mode, target: CudaTarget, schedules: Schedules = (), kernels: Kernels = "generated"
) -> tuple[Variant[CudaCode], ...]:
    """The kernel with each of its schedules, or without any with those that are predicted to be best for each number of rows.
    All kernels are generated, since calls of a library cannot be steps of a walk: for other `kernels` it raises ValueError."""
    if kernels != "generated":
        raise ValueError("kernels=vendor is for device=cpu: on a CUDA device all kernels are generated")
    schedules = schedules or default_schedules(kernel, target)
    return tuple(Variant(rows, emit(kernel, out_mode, target, schedule)) for rows, schedule in schedules)


def symbol(kernel: Kernel, out_mode: Mode, target: CudaTarget, schedule: CudaSchedule | None = None) -> str:
    """A C name for the kernel, which only equal kernels share. Without a schedule it is the name with the first default one."""
    return interface.symbol(kernel, out_mode, target, schedule or default_schedules(kernel, target)[0][1])
