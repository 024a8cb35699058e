"""The processor: kernels are object files by TVM or calls of a library; weights and results lie in memory of this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from backends.acrobat import versions
from backends.acrobat.codegen.cpu.units import CpuUnitWriter
from backends.acrobat.codegen.device import Artefacts, Device, Memory
from backends.acrobat.core.unwritten import Source, write
from backends.acrobat.kernels.cpu.emit import llvm_version, symbol, variants
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.interface import CpuCode, Emitted, Request, Schedules
from backends.acrobat.options import Options
from backends.acrobat.settings import Settings
from backends.acrobat.tuning.tune import Guide, tune

ALIGN = 64
"""The size of a cache line in bytes, to which arrays are aligned."""


class Cpu(Device):
    """Processors; the methods are described in `Device`."""

    name = "cpu"
    emit = staticmethod(variants)
    writer = CpuUnitWriter

    def check(self, settings: Settings) -> None:
        """Raises ValueError for products of reduced precision; every other setting is supported."""
        if settings.options.precision != "fp32":
            raise ValueError(
                f"precision={settings.options.precision!r} with device='cpu': kernels for processors are float32; tf32 and "
                "bf16 are for device='cuda'"
            )

    def target(self, options: Options) -> CpuTarget:
        return CpuTarget.detect(options.isa)

    def code_generator(self) -> str:
        return versions.code_generator()

    def artefacts(
        self, kernels: Mapping[str, Emitted[CpuCode]], target: CpuTarget, options: Options, flags: Sequence[str] = ()
    ) -> Artefacts:
        manifest = {
            "library": any(e.code.source for e in kernels.values()),
            "instruction_set": target.instruction_set,
            "second_level": target.second_level,
            "generator": f"LLVM {llvm_version()}" if kernels else "",
            "kernels": {
                name: {"flops_per_row": e.flops_per_row, "parts": e.code.parts, "schedule": asdict(e.schedule)}
                for name, e in kernels.items()
            },
        }
        return Artefacts(manifest, {e.symbol: e.code.object_bytes for e in kernels.values() if not e.code.source})

    def symbol(self, request: Request, target: CpuTarget) -> str:
        return symbol(request.kernel, request.out_mode, target)

    def tuned(
        self, requests: Sequence[Request], target: CpuTarget, settings: Settings, guide: Guide, folder: Path
    ) -> Mapping[Request, Schedules]:
        return tune(requests, target, settings.tune, guide, settings.threads, folder, settings.untuned)

    def memory(self, manifest: Mapping[str, Any], folder: Path) -> Memory:
        return HostMemory()


class HostMemory(Memory):
    """Memory of this process. Tensor addresses count from `base`, which lies in a small allocation made for that."""

    outputs = "cpu"
    shared = True

    def __init__(self) -> None:
        self._anchor = HostArrays([])
        self.base = self._anchor.base

    def arrays(self, arrays: Sequence[Source]) -> HostArrays:
        return HostArrays(arrays)


class HostArrays:
    """Arrays one after the other in one allocation, each of which begins at a cache line."""

    def __init__(self, arrays: Sequence[Source]) -> None:
        sizes = [-(-a.nbytes // ALIGN) * ALIGN for a in arrays]
        self._memory = np.empty(sum(sizes) + ALIGN, np.uint8)
        self.base = -(-self._memory.ctypes.data // ALIGN) * ALIGN
        start = self.base - self._memory.ctypes.data
        self._starts: list[int] = []
        for i, (array, size) in enumerate(zip(arrays, sizes, strict=True)):
            self._starts.append(start)
            self.fill(i, array)
            start += size

    def fill(self, index: int, array: Source) -> None:
        start = self._starts[index]
        write(array, self._memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape))

    def address(self, index: int) -> int:
        return self._memory.ctypes.data + self._starts[index]
