"""What is asked of a maker of kernels, and what it returns: the code (one class for each device) and the facts about it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.packing import Packing

Schedules: TypeAlias = tuple[tuple[int, Any], ...]
"""The schedules of a kernel's variants, each with the number of rows from which on it is used; the first begins at 0. The class
of a schedule is the device's own: `KernelSchedule` (cpu) or `CudaSchedule`."""


@dataclass(frozen=True, slots=True)
class Request:
    """A kernel to emit, whose params have the modes of its operands; `out_mode` is that of its rows of results."""

    kernel: Kernel
    out_mode: Mode


class UnsupportedKernel(Exception):
    """A device cannot run a kernel, for a `reason` that the user can avoid by following the `advice`. `operations` are those of
    the kernel that are the cause; by default all."""

    def __init__(self, kernel: Kernel, reason: str, advice: str, operations: tuple[str, ...] = ()) -> None:
        super().__init__(f"{kernel.name}: {reason}; {advice}")
        self.kernel, self.reason, self.advice = kernel, reason, advice
        self.operations = operations or tuple(dict.fromkeys(i.op for i in kernel.body))


@dataclass(frozen=True, slots=True)
class CpuCode:
    """For the processor. Threads may call it at once, each for any range of rows and of its `parts` (groups of columns)."""

    object_bytes: bytes
    """Empty for a kernel that has a `source`."""
    parts: int
    scratch_size: int
    """The 4-byte elements of scratch that each thread passes as the last argument."""
    declaration: str
    source: str = ""
    """The C++ definition of a kernel that calls a library, which is its first argument; else empty."""
    adjacent: bool = False
    """Whether such a kernel needs the rows of its operands and of its results next to each other."""


@dataclass(frozen=True, slots=True)
class CudaCode:
    """A kernel's code for a CUDA device: how a block of threads computes one tile of the results of a call. A call of `rows`
    rows has ceil(rows * product_rows / tile_rows) * tile_columns tiles."""

    text: str
    """CUDA C++: the struct of the kernel's arguments, and the function that computes one tile."""
    tile_rows: int
    tile_columns: int
    """How many tiles cover the columns of a row."""
    product_rows: int
    """The rows of the matrix product that one row of the call has."""
    shared_bytes: int
    """The bytes of shared memory that a block needs for a tile."""
    resident: int = 0
    """How many blocks each multiprocessor should run at once: 2 for products of many rows, where one block's instructions fill
    the time that another one waits; 1 if a thread needs more than half of its registers; 0 if either will do."""

    def tiles(self, rows: int) -> int:
        """The number of tiles of a call of `rows` rows."""
        return -(-rows * self.product_rows // self.tile_rows) * self.tile_columns


def symbol(kernel: Kernel, *inputs: Any) -> str:
    """A C name for a kernel, with a hash of it and of `inputs`, which are all that its code depends on beside it."""
    digest = hashlib.sha256(repr((kernel, *inputs)).encode()).hexdigest()[:16]
    return "k_" + "".join(c if c.isalnum() else "_" for c in kernel.name) + f"_{digest}"


C = TypeVar("C", bound=CpuCode | CudaCode)


@dataclass(frozen=True, slots=True)
class Emitted(Generic[C]):
    """A kernel and its code."""

    symbol: str
    kernel: str
    """The kernel's symbol with its default schedule, which identifies the kernel whatever its schedule is."""
    schedule: Any
    """The schedule of the code, as in `Schedules`."""
    packs: dict[str, Packing]
    """The layout of each shared operand, by its name."""
    flops_per_row: int
    """The floating-point operations of its matrix products, as `flops` counts them; 0 if it has none."""
    code: C
    """The code for the device that the kernel was emitted for."""


@dataclass(frozen=True, slots=True)
class Variant(Generic[C]):
    """The code of a kernel for launches of `rows` rows and more, up to the `rows` of the kernel's next variant."""

    rows: int
    emitted: Emitted[C]


def flops(kernel: Kernel) -> int:
    """The floating-point operations of the kernel's matrix products for one row; a multiplication and an addition are two."""
    total = 0
    for instr in kernel.body:
        if OPS[instr.op].fusion is Fusion.PRODUCT:
            total += 2 * instr.type.size * kernel.type_of(str(instr.args[0])).shape[-1]
    return total


def parameters(kernel: Kernel, out_mode: Mode) -> list[str]:
    """The C parameters of the kernel interface, in order."""
    out = ["float* base", "int64_t row_begin", "int64_t row_end", "int32_t part_begin", "int32_t part_end"]
    for i, p in enumerate(kernel.params):
        match p.mode:
            case Mode.SHARED:
                out.append(f"const float* p{i}")
            case Mode.GATHERED:
                out.append(f"const int64_t* p{i}")
            case Mode.CONTIGUOUS:
                out += [f"int64_t p{i}_start", f"int64_t p{i}_stride"]
            case Mode.LIST:
                out += [f"const int64_t* p{i}_starts", f"const int64_t* p{i}_items"]
    out += ["const int64_t* out"] if out_mode is Mode.GATHERED else ["int64_t out_start", "int64_t out_stride"]
    return [*out, "float* scratch"]
