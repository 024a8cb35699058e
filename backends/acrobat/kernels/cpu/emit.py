"""Emits kernels for the processor: as machine code by TVM and LLVM, or as C++ that calls a library."""

from __future__ import annotations

import hashlib
from functools import cache

from backends.acrobat.core.kept import Entry
from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu import vendor
from backends.acrobat.kernels.cpu.schedule import KernelSchedule
from backends.acrobat.kernels.cpu.stored import stored
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.interface import CpuCode, Emitted, Schedules, Variant, flops
from backends.acrobat.kernels.reference import parameters
from backends.acrobat.options import Kernels


@cache
def emit(kernel: Kernel, out_mode: Mode, target: CpuTarget, schedule: KernelSchedule | None = None) -> Emitted[CpuCode]:
    """The compiled kernel, with its results placed by `out_mode`; without a schedule, with the default one. TVM is imported
    only for a kernel that is not on disk yet."""
    schedule = schedule or KernelSchedule.default(kernel, target)
    name = symbol(kernel, out_mode, target, schedule)

    def make() -> Entry:
        from backends.acrobat.kernels.cpu import templates  # imports TVM, which takes seconds

        made = templates.write_kernel(kernel, out_mode, name, target, schedule)
        facts = {
            "parts": made.parts,
            "scratch_size": made.scratch_size,
            "packs": {p: dict(how) for p, how in made.packs.items()},
        }
        return facts, templates.compile_kernel(name, made, target)

    facts, object_bytes = stored(name, repr((kernel, out_mode, target, schedule)), make)
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

    return str(stored("llvm", "", make)[0]["llvm"])


def variants(
    kernel: Kernel, out_mode: Mode, target: CpuTarget, schedules: Schedules = (), kernels: Kernels = "generated"
) -> tuple[Variant[CpuCode], ...]:
    """The kernel compiled with each of its schedules, or without any with the default one. With `kernels="vendor"` a product
    becomes calls of a library instead."""
    called = _call(kernel, out_mode, target) if kernels == "vendor" else None
    if called:
        return (Variant(0, called),)
    wanted = schedules or ((0, KernelSchedule.default(kernel, target)),)
    return tuple(Variant(rows, emit(kernel, out_mode, target, schedule)) for rows, schedule in wanted)


def _call(kernel: Kernel, out_mode: Mode, target: CpuTarget) -> Emitted[CpuCode] | None:
    """The kernel as calls of a library, if it is a product."""
    name = "vendor" + symbol(kernel, out_mode, target).removeprefix("k")
    made = vendor.call(kernel, out_mode, name)
    if made is None:
        return None
    return Emitted(
        symbol=name,
        kernel=symbol(kernel, out_mode, target),
        schedule=KernelSchedule.default(kernel, target),
        packs=dict(made.packs),
        flops_per_row=flops(kernel),
        code=CpuCode(b"", made.parts, 0, "", made.source, made.adjacent),
    )


def symbol(kernel: Kernel, out_mode: Mode, target: CpuTarget, schedule: KernelSchedule | None = None) -> str:
    """A C name for the kernel, which only equal kernels share. Without a schedule it is the name with the default one."""
    tuned = () if schedule in (None, KernelSchedule.default(kernel, target)) else (schedule,)
    digest = hashlib.sha256(repr((kernel, out_mode, target, *tuned)).encode()).hexdigest()[:16]
    return "k_" + "".join(c if c.isalnum() else "_" for c in kernel.name) + f"_{digest}"
