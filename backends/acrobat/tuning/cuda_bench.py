"""Measures what a kernel costs on a CUDA device: builds it with its default schedules and another one, and runs both there, on
rows that are scattered over the device's memory.

As in a model, a kernel runs as a step of a *walk*: one launch that goes over many steps with a barrier after each. The walks
that are timed, between two events of the driver, have equal steps, and a time is that of one step. Schedules take turns, so
that changes of the device's clock rate affect all of them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from backends.acrobat.core.units import Mode, displacements
from backends.acrobat.kernels.cuda.build import cubin
from backends.acrobat.kernels.cuda.emit import emit
from backends.acrobat.kernels.cuda.module import kernel_index, module_text, resident_blocks, walk_shared
from backends.acrobat.kernels.cuda.schedule import CudaSchedule
from backends.acrobat.kernels.cuda.target import CudaTarget, Driver
from backends.acrobat.kernels.interface import CudaCode, Emitted, Request, Schedules
from backends.acrobat.kernels.packing import pack
from backends.acrobat.tuning.comparison import ITEMS, check_results, in_turns, random_weight
from backends.acrobat.tuning.search import Timing

THREADS = 256
TURN_MS = 1.0
"""About how many milliseconds one schedule runs in a turn, at one number of rows."""
MOST_STEPS = 512
DYNAMIC_SHARED = 8
"""The number of the `CUfunction_attribute` for the largest dynamic shared memory."""
ALIGN = 256


class Walker:
    """Kernels that are built together and loaded on the device, and the device's memory for what they run on, until `close`."""

    def __init__(self, kernels: Sequence[Emitted[CudaCode]], target: CudaTarget) -> None:
        self.kernels = list({e.symbol: e for e in kernels}.values())
        self.target = target
        self.driver = Driver()
        self._allocated: list[ctypes.c_uint64] = []
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.events = ctypes.c_void_p(), ctypes.c_void_p()
        self.driver("cuDeviceGet", ctypes.byref(device), 0)
        self.driver("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.driver("cuCtxPushCurrent_v2", context)
        self.shared = walk_shared(self.kernels)
        self.blocks = resident_blocks(self.kernels, target)  # of a multiprocessor
        text = module_text(self.kernels, ("walk",), self.blocks)
        self.driver("cuModuleLoadData", ctypes.byref(self.module), cubin(text, target).content)
        self.driver("cuModuleGetFunction", ctypes.byref(self.function), self.module, b"walk")
        self.driver("cuFuncSetAttribute", self.function, DYNAMIC_SHARED, self.shared)
        for event in self.events:
            self.driver("cuEventCreate", ctypes.byref(event), 0)
        self.bar = self.upload(np.zeros(ALIGN, np.uint8))

    def close(self) -> None:
        self.driver("cuCtxSynchronize")
        for event in self.events:
            self.driver("cuEventDestroy_v2", event)
        for memory in self._allocated:
            self.driver("cuMemFree_v2", memory)
        self.driver("cuModuleUnload", self.module)
        self.driver("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def upload(self, array: np.ndarray) -> int:
        """Copies an array to the device and returns its address there."""
        values = np.ascontiguousarray(array)
        memory = ctypes.c_uint64()
        self.driver("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(max(values.nbytes, ALIGN)))
        self._allocated.append(memory)
        self.write(memory.value, values)
        return memory.value

    def write(self, to: int, values: np.ndarray) -> None:
        stream = ctypes.c_void_p()
        size = ctypes.c_size_t(values.nbytes)
        self.driver("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(to), ctypes.c_void_p(values.ctypes.data), size, stream)
        self.driver("cuStreamSynchronize", stream)

    def download(self, at: int, count: int) -> np.ndarray:
        values = np.empty(count, np.float32)
        size = ctypes.c_size_t(values.nbytes)
        self.driver("cuMemcpyDtoH_v2", ctypes.c_void_p(values.ctypes.data), ctypes.c_uint64(at), size)
        return values

    def steps(self, emitted: Emitted[CudaCode], arguments: int, rows: int, count: int) -> int:
        """The address, on the device, of a schedule with `count` steps that all run this kernel with these arguments."""
        table = np.zeros((count, 3), np.int64)
        number = kernel_index([e.symbol for e in self.kernels].index(emitted.symbol))
        table.view(np.int32).reshape(count, 6)[:, :4] = number, 1, 0, emitted.code.tiles(rows)
        table[:, 2] = arguments
        return self.upload(table)

    def milliseconds(self, steps: int, count: int) -> float:
        """Milliseconds, by the device's clock, of one walk over the `count` steps at address `steps`."""
        held = [ctypes.c_uint64(steps), ctypes.c_int64(count), ctypes.c_uint64(self.bar), ctypes.c_uint64(0)]
        parameters = (ctypes.c_void_p * 4)(*(ctypes.addressof(h) for h in held))
        stream, took = ctypes.c_void_p(), ctypes.c_float()
        before, after = self.events
        self.driver("cuEventRecord", before, stream)
        shape = (self.target.sms * self.blocks, 1, 1, THREADS, 1, 1, self.shared)
        self.driver("cuLaunchCooperativeKernel", self.function, *shape, stream, parameters)
        self.driver("cuEventRecord", after, stream)
        self.driver("cuEventSynchronize", after)
        self.driver("cuEventElapsedTime", ctypes.byref(took), before, after)
        return took.value


class CudaOperands:
    """Random operands of a kernel for `rows` rows and room for its results, in the device's memory."""

    def __init__(self, walker: Walker, request: Request, rows: int) -> None:
        self.walker, self.request, self.rows = walker, request, rows
        kernel = request.kernel
        rng = np.random.default_rng(rows)
        self.size = rows * kernel.row_size
        places, end = [], -(-self.size // ALIGN) * ALIGN
        for p in kernel.params:
            if p.mode is not Mode.SHARED:
                count = 2 * rows * (ITEMS if p.mode is Mode.LIST else 1)
                places.append((p, end, displacements((p.type,))[1], count))
                end += places[-1][2] * count
        self.empty = np.full(self.size, np.nan, np.float32)
        self.base = walker.upload(np.concatenate([self.empty, rng.standard_normal(end - self.size).astype(np.float32)]))
        self.words: dict[str, list[int]] = {}
        for p, start, size, count in places:
            order = rng.permutation(count)
            if p.mode is Mode.CONTIGUOUS:
                self.words[p.name] = [start, size]
            elif p.mode is Mode.GATHERED:
                self.words[p.name] = [walker.upload(start + size * order[:rows]), 0]
            else:
                items = walker.upload(start + size * order[: rows * ITEMS])
                self.words[p.name] = [walker.upload(np.arange(rows + 1) * ITEMS), items, 0]
        gathered = request.out_mode is Mode.GATHERED
        self.out = [walker.upload(np.arange(rows) * kernel.row_size), 0] if gathered else [0, kernel.row_size]

    def arguments(self, weights: dict[str, int]) -> int:
        """The address of the kernel's arguments. `weights`: param -> address of the packed weight."""
        words = [self.base, self.rows]
        for p in self.request.kernel.params:
            words += [weights[p.name]] if p.mode is Mode.SHARED else self.words[p.name]
        return self.walker.upload(np.array([*words, *self.out], np.int64))


class CudaBench:
    """Measures one kernel for several numbers of rows (`extents`). `usual`: its default variants, each from a number of rows
    on. Raises UnsupportedCuda where the device fails."""

    def __init__(self, request: Request, target: CudaTarget, extents: Sequence[int], default: Schedules) -> None:
        self.request, self.target, self.extents, self.usual = request, target, extents, default

    def baseline(self) -> dict[int, float]:
        return {rows: timing.default for rows, timing in self._compare(None).items()}

    def measure(self, schedule: CudaSchedule) -> dict[int, Timing]:
        return self._compare(schedule)

    def _compare(self, schedule: CudaSchedule | None) -> dict[int, Timing]:
        """The schedule against the default variant, by rows; with None only the default variants are timed."""
        emitted = {s: emit(self.request.kernel, self.request.out_mode, self.target, s) for s in (*self._usual(), schedule) if s}
        walker = Walker(list(emitted.values()), self.target)
        try:
            weights = {s: self._weights(walker, e) for s, e in emitted.items()}
            timings = {}
            for rows in self.extents:
                operands = CudaOperands(walker, self.request, rows)
                pair = [self._usual_for(rows), *([schedule] if schedule else [])]
                runs = [(emitted[s], operands.arguments(weights[s])) for s in pair]
                self._check(walker, operands, runs, schedule)
                timings[rows] = self._turns(walker, rows, runs)
            return timings
        finally:
            walker.close()

    def _usual(self) -> list[CudaSchedule]:
        return [schedule for _, schedule in self.usual]

    def _usual_for(self, rows: int) -> CudaSchedule:
        chosen: CudaSchedule = [schedule for first, schedule in self.usual if first <= rows][-1]
        return chosen

    def _weights(self, walker: Walker, emitted: Emitted[CudaCode]) -> dict[str, int]:
        rng = np.random.default_rng(0)
        weights = {}
        for p in self.request.kernel.params:
            if p.mode is Mode.SHARED:
                weights[p.name] = walker.upload(pack(emitted.packs[p.name], random_weight(rng, p.type.shape)))
        return weights

    def _check(
        self, walker: Walker, operands: CudaOperands, runs: Sequence[tuple[Any, int]], schedule: CudaSchedule | None
    ) -> None:
        """Raises ScheduleWrong if the runs, pairs of a kernel and its arguments' address, give different results."""
        answers = []
        for emitted, arguments in runs:
            walker.write(operands.base, operands.empty)
            walker.milliseconds(walker.steps(emitted, arguments, operands.rows, 1), 1)
            answers.append(walker.download(operands.base, operands.size))
        check_results(self.request.kernel.name, schedule, operands.rows, answers[-1], answers[0])

    def _turns(self, walker: Walker, rows: int, runs: Sequence[tuple[Any, int]]) -> Timing:
        """Times the runs in turns, in the other order in every second round."""
        once = walker.milliseconds(walker.steps(*runs[0], rows, 1), 1)
        count = max(1, min(MOST_STEPS, int(TURN_MS / max(once, 1e-6))))

        def timed(emitted: Any, arguments: int) -> Callable[[], float]:
            steps = walker.steps(emitted, arguments, rows, count)
            return lambda: walker.milliseconds(steps, count) / count / 1e3

        return in_turns([timed(*run) for run in runs])
