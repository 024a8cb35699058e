"""Measures what a kernel with some schedule costs on this machine: compiles and loads it, and runs it in turns with the default
schedule, on rows that are scattered over memory.

Times are those that the thread itself runs, so the time of other programs does not count; what these do to caches and clock
rate affects both schedules, because they take turns. Calls use several copies of the weights in turn, which together exceed a
second-level cache, because in a model other kernels run in between.
"""

from __future__ import annotations

import ctypes
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from backends.acrobat.core.toolchain import BuildError, compiler
from backends.acrobat.core.units import Kernel, Mode, displacements
from backends.acrobat.kernels.cpu.emit import emit
from backends.acrobat.kernels.cpu.schedule import KernelSchedule
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.interface import CpuCode, Emitted
from backends.acrobat.kernels.packing import Packing, aligned, pack
from backends.acrobat.tuning.comparison import ITEMS, ROUNDS, check_results, in_turns, random_weight
from backends.acrobat.tuning.search import Timing

ARGUMENTS = 32
PARTS_AT = 4
"""Position, among a kernel's arguments, of the end of the range of parts that a call computes."""
WEIGHT_CACHES = 4
"""The copies of the weights together are at least so many times as large as a core's second-level cache."""
MAX_COPIES = 64
TURN_S = 3e-4
"""About how many seconds one schedule runs in a turn, at one number of rows."""
LONGEST_TURN_S = 3e-3
"""A turn may take up to this many seconds to use each copy of the weights once. If calls are so long that some copies are left
out, reading the weights is a small part of their time."""
MORE_ROUNDS = 41
PROMISING = 0.97
"""A ratio of times below this is measured again, with more rounds."""


def shared_object(source: Path, target: Path) -> ctypes.CDLL:
    """Compiles or links one source or object file to the shared library `target` and loads it. Raises BuildError."""
    command = [compiler(), "-O2", "-march=native", "-shared", "-fPIC", "-o", str(target), str(source)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise BuildError(f"the C++ compiler failed on {source}:\n{result.stderr[-4000:]}")
    return ctypes.CDLL(str(target))


@cache
def clock() -> ctypes.CDLL:
    """The timing loops of clock.cpp, compiled once in a process."""
    with tempfile.TemporaryDirectory(prefix="acrobat-") as folder:
        library = shared_object(Path(__file__).with_name("clock.cpp"), Path(folder) / "clock.so")
    library.time_kernel.restype = library.fma_peak.restype = ctypes.c_double
    library.time_kernel.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    library.fma_peak.argtypes = [ctypes.c_int64]
    return library


class Loaded:
    """A compiled kernel, loaded into this process."""

    def __init__(self, emitted: Emitted[CpuCode]) -> None:
        self.parts, self.scratch_size, self.packs = emitted.code.parts, emitted.code.scratch_size, emitted.packs
        with tempfile.TemporaryDirectory(prefix="acrobat-") as folder:
            object_file = Path(folder) / f"{emitted.symbol}.o"
            object_file.write_bytes(emitted.code.object_bytes)
            self.function = getattr(shared_object(object_file, object_file.with_suffix(".so")), emitted.symbol)


class Weights:
    """Random weights, packed as `packs` says; of each `copies`, in all about `bytes_wanted`, but at most MAX_COPIES."""

    def __init__(self, kernel: Kernel, packs: Mapping[str, Packing], bytes_wanted: int) -> None:
        rng = np.random.default_rng(0)
        packed = {}
        for p in kernel.params:
            if p.mode is Mode.SHARED:
                packed[p.name] = pack(packs[p.name], random_weight(rng, p.type.shape))
        size = sum(w.nbytes for w in packed.values())
        self.copies = max(1, min(MAX_COPIES, -(-bytes_wanted // size))) if size else 1
        self.arrays = {name: [w, *(aligned(w) for _ in range(self.copies - 1))] for name, w in packed.items()}


class Operands:
    """Random operands and arguments of a kernel for `rows` rows, with one set of arguments for each copy of the weights.
    Results lie row after row at the beginning of `memory`."""

    def __init__(self, kernel: Kernel, out_mode: Mode, rows: int, weights: Weights) -> None:
        self.rows = rows
        rng = np.random.default_rng(rows)
        self.keep: list[np.ndarray] = []
        places, end = {}, rows * kernel.row_size
        for p in kernel.params:
            if p.mode is not Mode.SHARED:
                size, count = displacements((p.type,))[1], 2 * rows * (ITEMS if p.mode is Mode.LIST else 1)
                places[p.name] = (end, size, count)
                end += size * count
        self.memory = aligned(rng.standard_normal(end).astype(np.float32))
        self.results = self.memory[: rows * kernel.row_size]
        sets = []
        for copy in range(weights.copies):
            arguments = [self._address(self.memory), 0, rows, 0, 0]
            for p in kernel.params:
                if p.mode is Mode.SHARED:
                    arguments.append(self._address(weights.arrays[p.name][copy]))
                    continue
                start, size, count = places[p.name]
                order = np.random.default_rng(rows + start).permutation(count)
                if p.mode is Mode.CONTIGUOUS:
                    arguments += [start, size]
                elif p.mode is Mode.GATHERED:
                    arguments.append(self._address(start + size * order[:rows]))
                else:
                    arguments.append(self._address(np.arange(rows + 1) * ITEMS))
                    arguments.append(self._address(start + size * order[: rows * ITEMS]))
            if out_mode is Mode.GATHERED:
                arguments.append(self._address(np.arange(rows) * kernel.row_size))
            else:
                arguments += [0, kernel.row_size]
            sets.append(arguments)
        self.scratch_at = len(sets[0])
        assert self.scratch_at < ARGUMENTS, kernel.name
        self.arguments = np.zeros((len(sets), ARGUMENTS), np.int64)
        self.arguments[:, : self.scratch_at] = sets
        self.scratch = np.empty(0, np.float32)

    def _address(self, array: np.ndarray) -> int:
        self.keep.append(array)
        return array.ctypes.data

    def answers(self, compiled: Loaded) -> np.ndarray:
        """The results of one call, all rows; elements that the kernel does not write are NaN."""
        self.results[:] = np.nan
        self.seconds(compiled, 1)
        return self.results.copy()

    def seconds(self, compiled: Loaded, calls: int) -> float:
        """Seconds for one call, averaged over `calls`."""
        if len(self.scratch) < compiled.scratch_size + 1:
            self.scratch = aligned(np.zeros(compiled.scratch_size + 1, np.float32))
        self.arguments[:, PARTS_AT] = compiled.parts
        self.arguments[:, self.scratch_at] = self.scratch.ctypes.data
        return float(clock().time_kernel(compiled.function, self.arguments.ctypes.data, len(self.arguments), calls))


def calls_of(once: float, copies: int) -> int:
    """The number of calls in a turn, if one call takes `once` seconds and there are this many copies of the weights."""
    once = max(once, 1e-9)
    return max(1, min(copies, int(LONGEST_TURN_S / once)), int(TURN_S / once))


class Bench:
    """Measures one kernel for several numbers of rows. Schedules are compared with `start`, or with the default one."""

    def __init__(
        self, kernel: Kernel, out_mode: Mode, target: CpuTarget, extents: Sequence[int], start: KernelSchedule | None = None
    ) -> None:
        self.kernel, self.out_mode, self.target = kernel, out_mode, target
        self.default = Loaded(emit(kernel, out_mode, target, start))
        weights = Weights(kernel, self.default.packs, WEIGHT_CACHES * target.second_level)
        self.operands = {rows: Operands(kernel, out_mode, rows, weights) for rows in extents}
        self.expected = {rows: o.answers(self.default) for rows, o in self.operands.items()}
        self.calls: dict[int, int] = {}
        for rows, o in self.operands.items():
            once = o.seconds(self.default, len(o.arguments))
            self.calls[rows] = calls_of(once, len(o.arguments))

    def baseline(self) -> dict[int, float]:
        """Seconds of one call with the default schedule, by rows."""
        return {
            rows: statistics.median(o.seconds(self.default, self.calls[rows]) for _ in range(ROUNDS))
            for rows, o in self.operands.items()
        }

    def measure(self, schedule: KernelSchedule) -> dict[int, Timing]:
        """The schedule against the default one, by rows. Raises ScheduleWrong."""
        own = Loaded(emit(self.kernel, self.out_mode, self.target, schedule))
        assert own.packs == self.default.packs, schedule
        for rows, o in self.operands.items():
            check_results(self.kernel.name, schedule, rows, o.answers(own), self.expected[rows])
        timings = {rows: self._turns(own, rows, ROUNDS) for rows in self.operands}
        # A gain is measured again with more rounds: of many schedules, the one that seems fastest is partly just lucky.
        for rows, timing in timings.items():
            if timing.ratio < PROMISING:
                timings[rows] = self._turns(own, rows, MORE_ROUNDS)
        return timings

    def _turns(self, own: Loaded, rows: int, rounds: int) -> Timing:
        operands, calls = self.operands[rows], self.calls[rows]
        return in_turns([lambda: operands.seconds(self.default, calls), lambda: operands.seconds(own, calls)], rounds)
