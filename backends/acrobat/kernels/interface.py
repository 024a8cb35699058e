"""What is asked of a maker of kernels and what it hands back, the same for every device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.packing import Packing


@dataclass(frozen=True, slots=True)
class Request:
    """A kernel to emit: operand modes as the unit calls it."""

    kernel: Kernel
    out_mode: Mode


@dataclass(frozen=True, slots=True)
class Emitted:
    """A kernel and its code. It may be called for any range of rows and of its `parts` (column groups), by several threads."""

    symbol: str
    kernel: str
    """The symbol that the kernel has with its default schedule: names it whatever its schedule."""
    schedule: Any
    """The device's own dataclass of the loops that were chosen."""
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


@dataclass(frozen=True, slots=True)
class Variant:
    """A kernel as it runs launches of `rows` rows and more, up to the next variant's."""

    rows: int
    emitted: Emitted
