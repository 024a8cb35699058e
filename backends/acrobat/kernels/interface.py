"""What is asked of a maker of kernels and what it hands back: what every device has alike, and what each has of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.packing import Packing

Schedules: TypeAlias = tuple[tuple[int, Any], ...]
"""The schedules of a kernel's variants, each with the number of rows it begins at; the first begins at 0. A schedule is the
device's own frozen dataclass of the loops that were chosen."""


@dataclass(frozen=True, slots=True)
class Request:
    """A kernel to emit: operand modes as the unit calls it."""

    kernel: Kernel
    out_mode: Mode


@dataclass(frozen=True, slots=True)
class CpuCode:
    """For the processor. It may be called for any range of rows and of its `parts` (column groups), by several threads."""

    object_bytes: bytes
    """Empty for a kernel that has a `source`."""
    parts: int
    scratch_size: int
    """4-byte elements of scratch for each thread, as the last argument."""
    declaration: str
    source: str = ""
    """The C++ definition of a kernel that calls a library; it takes the library before all other arguments."""
    adjacent: bool = False
    """Whether such a kernel wants its operands' and its results' rows next to each other."""


@dataclass(frozen=True, slots=True)
class CudaCode:
    """For a CUDA device: how a block of threads computes one tile of the results of a call. A call of so many rows has
    ceil(rows * product_rows / tile_rows) * tile_columns tiles."""

    text: str
    """CUDA C++: the struct of the arguments and the function of one tile."""
    tile_rows: int
    tile_columns: int
    """Tiles that cover the columns of a row."""
    product_rows: int
    """Rows of the matrix product that one row of the call stands for."""
    shared_bytes: int
    """Of shared memory that a block needs for a tile."""

    def tiles(self, rows: int) -> int:
        """Tiles of a call of so many rows."""
        return -(-rows * self.product_rows // self.tile_rows) * self.tile_columns


C = TypeVar("C", bound=CpuCode | CudaCode)


@dataclass(frozen=True, slots=True)
class Emitted(Generic[C]):
    """A kernel and its code."""

    symbol: str
    kernel: str
    """The symbol that the kernel has with its default schedule: names it whatever its schedule."""
    schedule: Any
    """The device's own dataclass of the loops that were chosen."""
    packs: dict[str, Packing]
    """How each shared operand is packed, by name."""
    flops_per_row: int
    """Of its matrix products (a multiplication and an addition count as two); 0 if it has none."""
    code: C
    """For the device that it was emitted for."""


@dataclass(frozen=True, slots=True)
class Variant(Generic[C]):
    """A kernel as it runs launches of `rows` rows and more, up to the next variant's."""

    rows: int
    emitted: Emitted[C]


def flops(kernel: Kernel) -> int:
    """Floating-point operations of the products for one row."""
    total = 0
    for instr in kernel.body:
        if OPS[instr.op].fusion is Fusion.PRODUCT:
            total += 2 * instr.type.size * kernel.type_of(str(instr.args[0])).shape[-1]
    return total
