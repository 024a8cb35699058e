"""The processor that kernels are made for, read from the operating system (no TVM: it is part of the cache's key)."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

AVX2 = {"avx2", "fma"}
AVX512 = {"avx512f", "avx512dq", "avx512vl", "avx512bw"}


class UnsupportedCpu(Exception):
    """Kernels need an x86-64 processor with AVX2 and FMA."""


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """`mcpu` is LLVM's name (without one, code is several times slower); `lanes` the float32 elements of a vector."""

    mcpu: str
    lanes: int

    @staticmethod
    def detect() -> CpuTarget:
        """This machine. Raises UnsupportedCpu."""
        try:
            info = Path("/proc/cpuinfo").read_text()
        except OSError:
            info = ""
        return choose(platform.machine(), info)


def choose(machine: str, cpuinfo: str) -> CpuTarget:
    """The target for a machine type and the text of /proc/cpuinfo. Raises UnsupportedCpu."""
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
    if not flags >= AVX512:
        return CpuTarget("znver3" if amd and family >= 25 else "x86-64-v3", 8)
    if amd and family >= 25:
        return CpuTarget("znver5" if family >= 26 else "znver4", 16)
    return CpuTarget("sapphirerapids" if "amx_tile" in flags else "x86-64-v4", 16)
