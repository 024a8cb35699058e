"""From a kernel to machine code: chooses the template and has TVM and LLVM compile it, or has a library called for it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from backends.acrobat.ir.ops import OPS, Fusion
from backends.acrobat.kernels import vendor
from backends.acrobat.kernels.packing import Packing
from backends.acrobat.kernels.reference import parameters
from backends.acrobat.kernels.spec import Kernel, Mode
from backends.acrobat.kernels.target import CpuTarget
from backends.acrobat.options import Kernels


@dataclass(frozen=True, slots=True)
class Emitted:
    """A kernel and its code. It may be called for any range of rows and of its `parts` (column groups), by several threads."""

    symbol: str
    object_bytes: bytes
    """Empty for a kernel that has a `source`."""
    parts: int
    scratch_size: int
    """4-byte elements of scratch for each thread, as the last argument."""
    packs: dict[str, Packing]
    """How each shared operand is packed, by name."""
    flops_per_row: int
    """Of its matrix products (a multiplication and an addition count as two); 0 if it has none."""
    declaration: str
    source: str = ""
    """The C++ definition of a kernel that calls a library; it takes the library before all other arguments."""
    adjacent: bool = False
    """Whether such a kernel wants its operands' and its results' rows next to each other."""


def emit(kernel: Kernel, out_mode: Mode, target: CpuTarget) -> Emitted:
    """Compile one kernel."""
    return emit_all([(kernel, out_mode)], target)[0]


def emit_all(requests: Sequence[tuple[Kernel, Mode]], target: CpuTarget, kernels: Kernels = "generated") -> list[Emitted]:
    """Compile kernels, each for the way its results are placed; `vendor`: products are calls of a library. The first call
    in a process imports TVM."""
    called = [_call(kernel, out_mode) if kernels == "vendor" else None for kernel, out_mode in requests]
    return [made or _emit(kernel, out_mode, target) for made, (kernel, out_mode) in zip(called, requests, strict=True)]


def _call(kernel: Kernel, out_mode: Mode) -> Emitted | None:
    """The kernel as calls of a library, if it is a product."""
    name = "vendor" + symbol(kernel, out_mode).removeprefix("k")
    made = vendor.call(kernel, out_mode, name)
    if made is None:
        return None
    return Emitted(name, b"", made.parts, 0, dict(made.packs), flops(kernel), "", made.source, made.adjacent)


@cache
def _emit(kernel: Kernel, out_mode: Mode, target: CpuTarget) -> Emitted:
    from backends.acrobat.kernels import templates  # imports TVM, which takes seconds

    name = symbol(kernel, out_mode, target)
    made = templates.compile_kernel(kernel, out_mode, name, target)
    declaration = f"int32_t {name}({', '.join(parameters(kernel, out_mode))});"
    return Emitted(name, made.object_bytes, made.parts, made.scratch_size, made.packs, flops(kernel), declaration)


def symbol(kernel: Kernel, out_mode: Mode, target: CpuTarget | None = None) -> str:
    """A C name, the same for equal kernels only."""
    digest = hashlib.sha256(repr((kernel, out_mode, target)).encode()).hexdigest()[:8]
    return "k_" + "".join(c if c.isalnum() else "_" for c in kernel.name) + f"_{digest}"


def flops(kernel: Kernel) -> int:
    """Floating-point operations of the products for one row."""
    total = 0
    for instr in kernel.body:
        if OPS[instr.op].fusion is Fusion.PRODUCT:
            total += 2 * instr.type.size * kernel.type_of(str(instr.args[0])).shape[-1]
    return total
