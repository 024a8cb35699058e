"""Runs a kernel in a loop of native code, interleaved with the FMA peak, so that other load on the machine falls on both."""

from __future__ import annotations

import ctypes
import statistics
import subprocess
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from backends.acrobat.kernels.emit import Emitted, emit
from backends.acrobat.kernels.packing import aligned, pack
from backends.acrobat.kernels.spec import Kernel, Mode, displacements
from backends.acrobat.kernels.target import CpuTarget

ARGUMENTS = 20


@cache
def clock(folder: str) -> ctypes.CDLL:
    path = Path(folder) / "clock.so"
    source = Path(__file__).with_name("clock.cpp")
    subprocess.run(["g++", "-O2", "-march=native", "-shared", "-fPIC", "-o", str(path), str(source)], check=True)
    library = ctypes.CDLL(str(path))
    library.time_kernel.restype = library.fma_peak.restype = ctypes.c_double
    library.time_kernel.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    library.fma_peak.argtypes = [ctypes.c_int64]
    return library


def load(emitted: Emitted, folder: str) -> ctypes.c_void_p:
    """The address of the compiled kernel."""
    obj = Path(folder) / f"{emitted.symbol}.o"
    obj.write_bytes(emitted.object_bytes)
    subprocess.run(["g++", "-shared", "-o", str(obj.with_suffix(".so")), str(obj)], check=True)
    return ctypes.cast(getattr(ctypes.CDLL(str(obj.with_suffix(".so"))), emitted.symbol), ctypes.c_void_p)


class Case:
    """A kernel with random operands of `rows` rows, results in rows one after the other."""

    def __init__(self, kernel: Kernel, rows: int, folder: str, out_mode: Mode = Mode.GATHERED, items: int = 2) -> None:
        self.emitted = emit(kernel, out_mode, CpuTarget.detect())
        self.clock = clock(folder)
        self.function = load(self.emitted, folder)
        self.flops = self.emitted.flops_per_row * rows
        rng = np.random.default_rng(0)
        self.keep: list[np.ndarray] = []
        places, end = {}, rows * kernel.row_size
        for p in kernel.params:
            if p.mode is not Mode.SHARED:
                size, count = displacements((p.type,))[1], 2 * rows * (items if p.mode is Mode.LIST else 1)
                places[p.name] = (end, size, count)
                end += size * count
        base = aligned(rng.standard_normal(end).astype(np.float32))
        arguments = [self.address(base), 0, rows, 0, self.emitted.parts]
        for p in kernel.params:
            if p.mode is Mode.SHARED:
                w = rng.standard_normal(p.type.shape).astype(np.float32) / np.float32(p.type.shape[-1] ** 0.5)
                arguments.append(self.address(pack(self.emitted.packs[p.name], w)))
                continue
            start, size, count = places[p.name]
            if p.mode is Mode.CONTIGUOUS:
                arguments += [start, size]
            elif p.mode is Mode.GATHERED:
                arguments.append(self.address(start + size * rng.permutation(count)[:rows]))
            else:
                arguments.append(self.address(np.arange(rows + 1) * items))
                arguments.append(self.address(start + size * rng.permutation(count)[: rows * items]))
        if out_mode is Mode.GATHERED:
            arguments.append(self.address(np.arange(rows) * kernel.row_size))
        else:
            arguments += [0, kernel.row_size]
        arguments.append(self.address(aligned(np.zeros(self.emitted.scratch_size + 16, np.float32))))
        assert len(arguments) <= ARGUMENTS
        self.arguments = np.asarray(arguments + [0] * (ARGUMENTS - len(arguments)), np.int64)

    def address(self, array: np.ndarray) -> int:
        self.keep.append(array)
        return array.ctypes.data

    def seconds(self, calls: int) -> float:
        return float(self.clock.time_kernel(self.function, self.arguments.ctypes.data, calls))

    @cached_property
    def calls(self) -> int:
        """Calls that take about 2 ms."""
        return max(1, int(2e-3 / max(self.seconds(2), 1e-9)))

    def peak(self) -> float:
        return float(self.clock.fma_peak(50_000))

    def fraction(self, rounds: int = 31) -> tuple[float, float]:
        """Medians over rounds: products' operations as a fraction of the peak measured just before, and microseconds for one
        call."""
        fractions, times = [], []
        for _ in range(rounds):
            peak = self.peak()
            self.seconds(1)
            times.append(self.seconds(self.calls))
            fractions.append(self.flops / times[-1] / peak)
        return statistics.median(fractions), statistics.median(times) * 1e6
