"""Runs emitted kernels on the emulated device, on rows scattered over memory."""

from __future__ import annotations

import ctypes
import mmap
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from backends.acrobat.core.units import Kernel, Mode, displacements
from backends.acrobat.kernels.cpu.tests.support import UNTOUCHED, Builder, Run, check, param, random_run
from backends.acrobat.kernels.cuda.build import emulated
from backends.acrobat.kernels.cuda.emit import emit
from backends.acrobat.kernels.cuda.module import BARRIER_BYTES, MODES, kernel_index, module_text, walk_shared
from backends.acrobat.kernels.cuda.schedule import CudaSchedule
from backends.acrobat.kernels.cuda.target import CudaTarget
from backends.acrobat.kernels.interface import CudaCode, Emitted
from backends.acrobat.kernels.packing import pack
from backends.acrobat.options import Precision

EMULATED = CudaTarget("emulated device", "emulated", 6, 227 << 10, 50 << 20)
H200 = CudaTarget("H200", "sm_90a", 132, 227 << 10, 50 << 20)
ORDERS = (1, -1, 7)


class Module:
    """Kernels that were built together and are loaded for the emulated device."""

    def __init__(
        self,
        kernels: Sequence[Emitted[CudaCode]],
        replaced: Sequence[tuple[str, str]] = (),
        flags: Sequence[str] = ("-O1",),
        modes: Sequence[str] = MODES,
    ) -> None:
        """`replaced`: faults to plant into the text, as pieces that must occur in it and what replaces them."""
        self.kernels = list({e.symbol: e for e in kernels}.values())
        text = module_text(self.kernels, modes)
        for old, new in replaced:
            if old not in text:
                raise ValueError(f"the text has no {old!r} that could be replaced")
            text = text.replace(old, new)
        with tempfile.TemporaryDirectory(prefix="acrobat-kernels-") as name:  # a library that is loaded does not need its file
            path = Path(name) / "kernels.so"
            path.write_bytes(emulated(text, flags).content)
            self.library = ctypes.CDLL(str(path))

    def order(self, order: int) -> None:
        self.library.acrobat_order(order)

    def launch(self, entry: str, blocks: int, shared: int, *parameters: int) -> None:
        held = [ctypes.c_int64(p) for p in parameters]
        pointers = (ctypes.c_void_p * len(held))(*(ctypes.addressof(h) for h in held))
        getattr(self.library, f"emulated_{entry}")(blocks, 256, ctypes.c_size_t(shared), pointers)

    def call(self, emitted: Emitted[CudaCode], arguments: np.ndarray, rows: int, blocks: int) -> None:
        """A launch of one kernel."""
        tiles = emitted.code.tiles(rows)
        if tiles:
            grid = min(blocks, tiles)
            self.launch(f"launch_{emitted.symbol}", grid, emitted.code.shared_bytes, arguments.ctypes.data, tiles)

    def walk(self, steps: Sequence[tuple[Emitted[CudaCode], np.ndarray, int, bool]], blocks: int) -> None:
        """One launch that walks through calls, each given as kernel, arguments, rows, and whether a barrier follows."""
        out = np.zeros((len(steps), 4), np.int64)
        halves = out.view(np.int32).reshape(len(steps), 8)
        first = 0
        for i, (emitted, arguments, rows, barrier) in enumerate(steps):
            number = kernel_index([e.symbol for e in self.kernels].index(emitted.symbol))
            tiles = emitted.code.tiles(rows)
            halves[i, :4] = number, barrier, first % blocks, tiles
            out[i, 2:] = arguments.ctypes.data, len(arguments)
            first += tiles
        bar = np.zeros(BARRIER_BYTES // 4, np.uint32)
        self.launch("walk", blocks, walk_shared(self.kernels), out.ctypes.data, len(steps), bar.ctypes.data, 0)


LIBC = ctypes.CDLL(None)


def guarded(array: np.ndarray) -> np.ndarray:
    """A copy of the array that ends where accessible memory ends, so that reading beyond it is a fault."""
    pages = -(-array.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, pages + mmap.PAGESIZE)
    start = np.frombuffer(memory, np.uint8).ctypes.data
    if LIBC.mprotect(ctypes.c_void_p(start + pages), ctypes.c_size_t(mmap.PAGESIZE), 0):
        raise OSError("memory cannot be protected")
    out = np.frombuffer(memory, array.dtype, array.size, pages - array.nbytes)
    out[:] = array.reshape(-1)
    return out


class Operands:
    """A run's operands and results in memory, as a call of the kernel takes them.

    They lie shuffled before and after the base, which is aligned to 16 bytes; most operands are not. Rows that are one Python
    object share their place; tables and weights end where accessible memory ends. All else is NaN, and has to stay so.
    """

    def __init__(self, run: Run, emitted: Emitted[CudaCode], out_mode: Mode, odd: int = 3) -> None:
        """`odd`: the largest number of elements between neighbouring operands."""
        kernel, rows = run.kernel, run.rows
        self.run = run
        rng = np.random.default_rng(rows)
        arrays = {id(a): a for values in run.operands.values() for v in values for a in (v if isinstance(v, list) else [v])}
        self.stride = -(-kernel.row_size // 16) * 16 + 16
        room = 128 + sum(a.size + odd for a in arrays.values()) + 2 * rows * self.stride
        room += sum(rows * (p.type.size + odd) for p in kernel.params if p.mode is Mode.CONTIGUOUS)
        memory = np.full(room + 16, UNTOUCHED, np.float32)
        self.base = memory[-memory.ctypes.data % 64 // 4 :]
        self.origin = room // 2 // 16 * 16
        self.keep: list[np.ndarray] = []
        end = 16

        where: dict[int, int] = {}
        for key in rng.permutation(np.array(list(arrays), np.int64)):
            array = arrays[int(key)]
            where[int(key)] = end - self.origin
            self.base[end : end + array.size] = array.reshape(-1)
            end += array.size + int(rng.integers(0, odd + 1))
        words: list[int] = [self.base.ctypes.data + 4 * self.origin, rows]
        by = 5  # addresses in tables are smaller by this, and the arguments say so, as for a part of a larger value
        for p in kernel.params:
            if p.mode is Mode.SHARED:
                words.append(self._address(pack(emitted.packs[p.name], run.weights[p.name])))
            elif p.mode is Mode.CONTIGUOUS:
                stride = p.type.size + odd
                for i, a in enumerate(run.operands[p.name]):
                    self.base[end + i * stride : end + i * stride + a.size] = a.reshape(-1)
                words += [end - self.origin, stride]
                end += rows * stride
            elif p.mode is Mode.GATHERED:
                words += [self._address(np.array([where[id(a)] - by for a in run.operands[p.name]], np.int64)), by]
            else:
                lists = run.operands[p.name]
                words.append(self._address(np.cumsum([0, *map(len, lists)], dtype=np.int64)))
                words += [self._address(np.array([where[id(a)] - by for items in lists for a in items], np.int64)), by]
        end = -(-end // 16) * 16
        order = rng.permutation(rows) if out_mode is Mode.GATHERED else np.arange(rows)
        self.outs = end + order * self.stride
        if out_mode is Mode.GATHERED:
            words += [self._address(self.outs - self.origin - by), by]
        else:
            words += [end - self.origin, self.stride]
        self.arguments = np.array(words, np.int64)
        self.before = self.base.copy()

    def _address(self, array: np.ndarray) -> int:
        self.keep.append(guarded(array))
        return int(self.keep[-1].ctypes.data)

    def results(self) -> list[list[np.ndarray]]:
        """Results of each row. Checks that nothing else was written."""
        kernel = self.run.kernel
        out = []
        written = np.zeros(len(self.base), bool)
        for start in self.outs:
            row = []
            for at, t in zip(kernel.displacements, kernel.result_types, strict=True):
                width = t.width
                written[start + at : start + at + displacements((t,))[1]] = True
                value = self.base[start + at : start + at + width].copy()
                row.append(value.view(np.int64).reshape(t.shape) if t.dtype == "int64" else value.reshape(t.shape))
            out.append(row)
        np.testing.assert_array_equal(self.base[~written], self.before[~written], "written outside the results")
        return out


def emitted_for(
    kernel: Kernel, out_mode: Mode, schedule: CudaSchedule | None = None, precision: Precision = "fp32"
) -> Emitted[CudaCode]:
    return emit(kernel, out_mode, replace(EMULATED, precision=precision), schedule)


def execute(
    module: Module, run: Run, emitted: Emitted[CudaCode], out_mode: Mode, blocks: int = 4, order: int = 1, odd: int = 3
) -> list[list[np.ndarray]]:
    """The results of each row after one launch."""
    operands = Operands(run, emitted, out_mode, odd)
    module.order(order)
    module.call(emitted, operands.arguments, run.rows, blocks)
    return operands.results()


WORDS = {Mode.SHARED: 1, Mode.GATHERED: 2, Mode.CONTIGUOUS: 2, Mode.LIST: 3}
"""How many members of the arguments a param of each mode has."""


class Chain:
    """A kernel whose result is its param `state` at the next level: each row goes through `levels` levels in one walk. Each
    level is two calls that share a barrier."""

    def __init__(self, kernel: Kernel, state: str, emitted: Emitted[CudaCode], rows: int = 9, levels: int = 4) -> None:
        self.kernel, self.state, self.emitted, self.rows, self.levels = kernel, state, emitted, rows, levels
        self.run = random_run(kernel, rows)
        wanted = self.run
        for _ in range(levels - 1):
            states = [row[0].astype(np.float32) for row in wanted.expected()]
            wanted = Run(kernel, rows, self.run.weights, {**self.run.operands, state: states})
        self.wanted = wanted

    def check(self, built: Module, blocks: int, order: int, barriers: bool = True) -> None:
        """Raises AssertionError if the last level's results are wrong after a walk. `barriers`: whether levels have them."""
        operands = Operands(self.run, self.emitted, Mode.GATHERED)
        width = self.kernel.result_types[0].size
        room = np.full(self.levels * self.rows * width + 16, np.nan, np.float32)
        room = room[-room.ctypes.data % 64 // 4 :]
        first = (room.ctypes.data - int(operands.arguments[0])) // 4
        places = first + np.arange(self.levels * self.rows, dtype=np.int64).reshape(self.levels, self.rows) * width
        params = self.kernel.params
        where = {p.name: 2 + sum(WORDS[q.mode] for q in params[:i]) for i, p in enumerate(params)}
        steps = []
        for level in range(self.levels):
            for begin, end in ((0, 4), (4, self.rows)):
                arguments = operands.arguments.copy()
                arguments[1] = end - begin
                for p in params:
                    arguments[where[p.name]] += 8 * begin if p.mode is Mode.GATHERED else 0
                if level:
                    arguments[where[self.state]] = places[level - 1, begin:].ctypes.data
                    arguments[where[self.state] + 1] = 0
                arguments[-2:] = places[level, begin:].ctypes.data, 0
                steps.append((self.emitted, arguments, end - begin, barriers and end == self.rows))
        built.order(order)
        built.walk(steps, blocks)
        last = room[(self.levels - 1) * self.rows * width :][: self.rows * width]
        check(self.wanted, [[row] for row in last.reshape(self.rows, width)], 5e-5)


def residual(width: int) -> Kernel:
    """sigmoid(W [x, s] + b) + s: its product and its epilogue read the state."""
    b = Builder(
        param("x", Mode.GATHERED, width),
        param("s", Mode.GATHERED, width),
        param("W", Mode.SHARED, width, 2 * width),
        param("b", Mode.SHARED, width),
    )
    return b.kernel(b("add", b("sigmoid", b("linear", b("cat", "x", "s", dim=0), "W", "b")), "s"))
