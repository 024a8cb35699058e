"""The processor that kernels are made for, read from the operating system (no TVM: it is part of the cache's key)."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

from backends.acrobat.options import Isa

AVX2 = {"avx2", "fma"}
AVX512 = {"avx512f", "avx512dq", "avx512vl", "avx512bw"}


class UnsupportedCpu(Exception):
    """Kernels need an x86-64 processor with AVX2 and FMA, and with AVX-512 if that is asked for."""


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """`mcpu` is LLVM's name (without one, code is several times slower); `lanes` the float32 elements of a vector."""

    mcpu: str
    lanes: int

    @property
    def instruction_set(self) -> Isa:
        """The widest instructions that kernels for this target use."""
        return "avx512" if self.lanes == 16 else "avx2"

    @staticmethod
    def detect(isa: Isa = "native") -> CpuTarget:
        """This machine, used with the instructions of `isa`: all it has, or no wider ones than those named. Raises
        UnsupportedCpu where it has not those."""
        try:
            info = Path("/proc/cpuinfo").read_text()
        except OSError:
            info = ""
        return choose(platform.machine(), info, isa)


def choose(machine: str, cpuinfo: str, isa: Isa = "native") -> CpuTarget:
    """The target for a machine type, the text of /proc/cpuinfo and the instructions to use. Raises UnsupportedCpu."""
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
        return CpuTarget("znver3" if amd and family >= 25 else "x86-64-v3", 8)
    if amd and family >= 25:
        return CpuTarget("znver5" if family >= 26 else "znver4", 16)
    return CpuTarget("sapphirerapids" if "amx_tile" in flags else "x86-64-v4", 16)
