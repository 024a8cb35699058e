"""Times a kernel in a loop of native code, in turns with the FMA peak, so that other load on the machine falls on both."""

from __future__ import annotations

import statistics
from functools import cached_property

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu.emit import emit
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.tuning.measure import Loaded, Operands, Weights, clock


class KernelCase:
    """A kernel with random operands for `rows` rows, whose results lie row after row. Its weights stay in the cache."""

    def __init__(self, kernel: Kernel, rows: int, out_mode: Mode = Mode.GATHERED) -> None:
        emitted = emit(kernel, out_mode, CpuTarget.detect())
        self.loaded = Loaded(emitted)
        self.operands = Operands(kernel, out_mode, rows, Weights(kernel, emitted.packs, bytes_wanted=1))
        self.flops = emitted.flops_per_row * rows

    def seconds(self, calls: int) -> float:
        return self.operands.seconds(self.loaded, calls)

    @cached_property
    def calls(self) -> int:
        """The number of calls that take about 2 ms."""
        return max(1, int(2e-3 / max(self.seconds(2), 1e-9)))

    def peak(self) -> float:
        return float(clock().fma_peak(50_000))

    def fraction(self, rounds: int = 31) -> tuple[float, float]:
        """The operations of products as a fraction of the peak that is measured just before, and the microseconds of one call;
        both are medians over rounds."""
        fractions, times = [], []
        for _ in range(rounds):
            peak = self.peak()
            self.seconds(1)
            times.append(self.seconds(self.calls))
            fractions.append(self.flops / times[-1] / peak)
        return statistics.median(fractions), statistics.median(times) * 1e6
