"""Emits kernels for the processor: as machine code by TVM and LLVM, or as C++ that calls a library."""

from __future__ import annotations

from functools import cache

from backends.acrobat.core.cache_files import Entry
from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels import interface
from backends.acrobat.kernels.cpu import vendor
from backends.acrobat.kernels.cpu.kernel_cache import read_or_make
from backends.acrobat.kernels.cpu.schedule import KernelSchedule
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.interface import CpuCode, Emitted, Schedules, Variant, flops, parameters
from backends.acrobat.options import Kernels


@cache
def emit(kernel: Kernel, out_mode: Mode, target: CpuTarget, schedule: KernelSchedule | None = None) -> Emitted[CpuCode]:
    """The compiled kernel, with its results placed by `out_mode`; without a schedule, with the default one. TVM is imported
    only for a kernel that is not on disk yet."""
    schedule = schedule or KernelSchedule.default(kernel, target)
    name = symbol(kernel, out_mode, target, schedule)

    def make() -> Entry:
        from backends.acrobat.kernels.cpu import templates  # imports TVM, which takes seconds

        written = templates.write_kernel(kernel, out_mode, name, target, schedule)
        facts = {
            "parts": written.parts,
            "scratch_size": written.scratch_size,
            "packs": {param: dict(packing) for param, packing in written.packs.items()},
        }
        return facts, templates.compile_kernel(name, written, target)

    facts, object_bytes = read_or_make(name, repr((kernel, out_mode, target, schedule)), make)
    declaration = f"int32_t {name}({', '.join(parameters(kernel, out_mode))});"
    return Emitted(
        symbol=name,
        kernel=symbol(kernel, out_mode, target),
        schedule=schedule,
        packs=facts["packs"],
        flops_per_row=flops(kernel),
        code=CpuCode(object_bytes, facts["parts"], facts["scratch_size"], declaration),
    )


@cache
def llvm_version() -> str:
    """The major version of the LLVM within TVM, which compiles kernels."""

    def make() -> Entry:
        from backends.acrobat.kernels.cpu import templates

        return {"llvm": templates.llvm_version()}, b""

    return str(read_or_make("llvm", "", make)[0]["llvm"])


def variants(
    kernel: Kernel, out_mode: Mode, target: CpuTarget, schedules: Schedules = (), kernels: Kernels = "generated"
) -> tuple[Variant[CpuCode], ...]:
    """The kernel compiled with each of its schedules, or without any with the default one. With `kernels="vendor"` a product
    becomes calls of a library instead."""
    if kernels == "vendor" and (calls := _library_calls(kernel, out_mode, target)):
        return (Variant(0, calls),)
    schedules = schedules or ((0, KernelSchedule.default(kernel, target)),)
    return tuple(Variant(rows, emit(kernel, out_mode, target, schedule)) for rows, schedule in schedules)


def _library_calls(kernel: Kernel, out_mode: Mode, target: CpuTarget) -> Emitted[CpuCode] | None:
    """The kernel as calls of a library, if it is a product."""
    name = "vendor" + symbol(kernel, out_mode, target).removeprefix("k")
    library_call = vendor.call(kernel, out_mode, name)
    if library_call is None:
        return None
    return Emitted(
        symbol=name,
        kernel=symbol(kernel, out_mode, target),
        schedule=KernelSchedule.default(kernel, target),
        packs=dict(library_call.packs),
        flops_per_row=flops(kernel),
        code=CpuCode(b"", library_call.parts, 0, "", library_call.source, library_call.adjacent),
    )


def symbol(kernel: Kernel, out_mode: Mode, target: CpuTarget, schedule: KernelSchedule | None = None) -> str:
    """A C name for the kernel, which only equal kernels share. Without a schedule it is the name with the default one."""
    is_default = schedule in (None, KernelSchedule.default(kernel, target))
    return interface.symbol(kernel, out_mode, target, *(() if is_default else (schedule,)))
