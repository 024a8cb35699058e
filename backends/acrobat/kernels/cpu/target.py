"""The processor that kernels are compiled for, as the operating system describes it, with what the templates have to know: its
vectors, registers and second-level cache. This imports no TVM, since the target is part of the cache's key."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from backends.acrobat.options import Isa

AVX2 = {"avx2", "fma"}
AVX512 = {"avx512f", "avx512dq", "avx512vl", "avx512bw"}
"""The flags of /proc/cpuinfo that kernels for an instruction set need."""

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
"""The folder in which Linux describes the first core's caches."""


class UnsupportedCpu(Exception):
    """The processor is not an x86-64 one with AVX2 and FMA, or lacks AVX-512 although that is asked for."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The size of a tile of a product's result: so many rows by so many panels."""

    rows: int
    panels: int


@dataclass(frozen=True, slots=True)
class Registers:
    """The vector registers of an instruction set, and the sizes of the loops of products that were measured to be best with
    them. Another processor that needs others has a description of its own."""

    count: int
    accumulators: int
    """How many registers the sums of a tile for left-over rows may take."""
    least_sums: int
    """Tiles with fewer sums would wait for the latency of their additions, so tuning leaves them out."""
    product_rows: int
    """The rows of a tile of a product of two row operands."""
    tiles: tuple[Tile, ...]
    """The default tiles of products with a shared weight, for 1, 2, 3, ... gates."""
    tried_rows: tuple[int, ...] = (8, 6, 4, 7, 5, 3, 2, 1, 10, 12, 14)
    """The rows of tiles that tuning tries where they fit the registers; of several that promise the same, the first is tried
    first."""
    most_panels: int = 4
    """The most panels of a part by default. All rows of a block go through a part before the next one, so it has to stay in
    the second-level cache."""
    deep: int = 1024
    """From so many steps of the reduction on, the weights of the next tile of panels are fetched while a tile computes.
    Measured on Zen 4 beside other work, in calls of 64 rows with weights that no cache holds, against the same kernel without:
    1024 steps take 0.97 of the time with 1024 columns or 4096; 4096 steps gain from `schedule.MIN_BLOCK` only."""
    dot_rows: int = 3
    """Up to so many rows of the left operand of a product of two row operands, transposing the right one costs more than it
    saves."""


AVX512_REGISTERS = Registers(
    count=32,
    accumulators=24,
    least_sums=8,
    product_rows=8,
    tiles=(Tile(8, 2), Tile(8, 1), Tile(8, 1), Tile(6, 1), Tile(4, 1), Tile(4, 1), Tile(3, 1), Tile(3, 1)),
)
AVX2_REGISTERS = Registers(
    count=16,
    accumulators=12,
    least_sums=6,
    product_rows=4,
    tiles=(Tile(6, 2), Tile(6, 1), Tile(4, 1), Tile(3, 1), Tile(2, 1), Tile(2, 1), Tile(1, 1), Tile(1, 1)),
)
SECOND_LEVEL = 1 << 20
"""The bytes of the second-level cache that are assumed if the system does not tell them."""


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """A processor. `mcpu` is LLVM's name for it (without a name, code is several times slower), `lanes` the number of float32
    elements of a vector, `second_level` the bytes of a core's second-level cache."""

    mcpu: str
    lanes: int
    second_level: int = SECOND_LEVEL

    device: ClassVar[str] = "cpu"

    @property
    def registers(self) -> Registers:
        """The vector registers of the instructions that kernels for this target use."""
        return AVX512_REGISTERS if self.lanes == 16 else AVX2_REGISTERS

    @property
    def instruction_set(self) -> Isa:
        """The widest instructions that kernels for this target use."""
        return "avx512" if self.lanes == 16 else "avx2"

    @staticmethod
    def detect(isa: Isa = "native") -> CpuTarget:
        """This machine with the instructions `isa` ("native": the widest that it has). Raises UnsupportedCpu if it lacks
        them."""
        try:
            cpuinfo = Path("/proc/cpuinfo").read_text()
        except OSError:
            cpuinfo = ""
        return choose(platform.machine(), cpuinfo, isa, second_level(CACHES))


def second_level(caches: Path) -> int:
    """The bytes of the second-level cache that a folder like CACHES describes; SECOND_LEVEL if it cannot be read."""
    for index in sorted(caches.glob("index*")):
        try:
            if (index / "level").read_text().strip() == "2":
                size = (index / "size").read_text().strip()
                return int(size[:-1]) * {"K": 1 << 10, "M": 1 << 20}[size[-1]]
        except (OSError, ValueError, KeyError, IndexError):
            continue
    return SECOND_LEVEL


def choose(machine: str, cpuinfo: str, isa: Isa = "native", second_level: int = SECOND_LEVEL) -> CpuTarget:
    """The target for a machine type, the text of /proc/cpuinfo, the instructions to use and the bytes of the second-level
    cache. Raises UnsupportedCpu."""
    facts: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    flags = set(facts.get("flags", "").split())
    if machine not in ("x86_64", "AMD64") or not flags >= AVX2:
        raise UnsupportedCpu(
            f"kernels need an x86-64 processor with AVX2 and FMA; this one is {facts.get('model name', machine)}"
        )
    amd = facts.get("vendor_id") == "AuthenticAMD"
    family = int(facts.get("cpu family", "0"))
    if isa == "avx512" and not flags >= AVX512:
        lacking = ", ".join(sorted(AVX512 - flags))
        raise UnsupportedCpu(
            f"isa=avx512 needs a processor with AVX-512; this one ({facts.get('model name', machine)}) lacks {lacking}"
        )
    if isa == "avx2" or not flags >= AVX512:
        return CpuTarget("znver3" if amd and family >= 25 else "x86-64-v3", 8, second_level)
    if amd and family >= 25:
        return CpuTarget("znver5" if family >= 26 else "znver4", 16, second_level)
    return CpuTarget("sapphirerapids" if "amx_tile" in flags else "x86-64-v4", 16, second_level)
