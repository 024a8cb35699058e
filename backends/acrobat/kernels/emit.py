"""From a kernel to an object file: chooses the template and has TVM and LLVM compile it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from backends.acrobat.ir.ops import OPS, Fusion
from backends.acrobat.kernels.packing import Packing
from backends.acrobat.kernels.reference import parameters
from backends.acrobat.kernels.spec import Kernel, Mode
from backends.acrobat.kernels.target import CpuTarget


@dataclass(frozen=True, slots=True)
class Emitted:
    """A compiled kernel. It may be called for any range of rows and of its `parts` (column groups), from several threads."""

    symbol: str
    object_bytes: bytes
    parts: int
    scratch_size: int
    """4-byte elements of scratch for each thread, as the last argument."""
    packs: dict[str, Packing]
    """How each shared operand is packed, by name."""
    flops_per_row: int
    """Of its matrix products (a multiplication and an addition count as two); 0 if it has none."""
    declaration: str


def emit(kernel: Kernel, out_mode: Mode, target: CpuTarget) -> Emitted:
    """Compile one kernel."""
    return emit_all([(kernel, out_mode)], target)[0]


def emit_all(requests: Sequence[tuple[Kernel, Mode]], target: CpuTarget) -> list[Emitted]:
    """Compile kernels, each for the way its results are placed. The first call in a process imports TVM."""
    return [_emit(kernel, out_mode, target) for kernel, out_mode in requests]


@cache
def _emit(kernel: Kernel, out_mode: Mode, target: CpuTarget) -> Emitted:
    from backends.acrobat.kernels import templates  # imports TVM, which takes seconds

    name = symbol(kernel, out_mode, target)
    made = templates.compile_kernel(kernel, out_mode, name, target)
    declaration = f"int32_t {name}({', '.join(parameters(kernel, out_mode))});"
    return Emitted(name, made.object_bytes, made.parts, made.scratch_size, made.packs, flops(kernel), declaration)


def symbol(kernel: Kernel, out_mode: Mode, target: CpuTarget) -> str:
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
