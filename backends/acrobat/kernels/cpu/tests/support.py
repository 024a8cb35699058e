"""Runs an emitted kernel on rows that are scattered over memory, and computes what its operations mean in float64."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from backends.acrobat.core.ops import OPS, evaluate
from backends.acrobat.core.toolchain import compiler
from backends.acrobat.core.types import FLOAT, ListT, TensorT
from backends.acrobat.core.units import Instr, Kernel, Mode, Param, displacements
from backends.acrobat.kernels.cpu.emit import emit
from backends.acrobat.kernels.cpu.schedule import KernelSchedule
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.interface import CpuCode, Emitted
from backends.acrobat.kernels.packing import PLAIN, pack
from backends.acrobat.kernels.tests import reference

UNTOUCHED = np.float32("nan")
"""The value of memory between operands: NaN, so that a wrong read shows in the results."""
HERE = CpuTarget.detect()
NARROW = CpuTarget("x86-64-v3", 8)
TARGETS = [HERE, NARROW] if HERE.lanes == 16 else [HERE]


def param(name: str, mode: Mode, *shape: int) -> Param:
    return Param(name, TensorT(shape), mode)


class Builder:
    """Builds a kernel by calling its operations; shapes are inferred."""

    def __init__(self, *params: Param) -> None:
        self.params = params
        self.body: list[Instr] = []
        self.types: dict[str, TensorT] = {p.name: p.type for p in params}

    def __call__(self, op: str, *args: str | float, **attrs: Any) -> str:
        name = f"t{len(self.body)}"
        lists = {p.name for p in self.params if p.mode is Mode.LIST}
        types = {n: ListT(t) if n in lists else t for n, t in self.types.items()}
        result = OPS[op].infer([types[a] if isinstance(a, str) else FLOAT for a in args], attrs)
        self.body.append(Instr(name, op, args, tuple(sorted(attrs.items())), result))
        self.types[name] = result
        return name

    def kernel(self, *results: str, name: str = "test") -> Kernel:
        return Kernel(name, self.params, tuple(self.body), results)


@cache
def compiled(
    kernel: Kernel, out_mode: Mode, target: CpuTarget | None, schedule: KernelSchedule | None = None
) -> tuple[Emitted, Any]:
    """The kernel and its function; without a target the plain kernel, which the reference emitter writes."""
    emitted = emit(kernel, out_mode, target, schedule) if target else plain(kernel, out_mode)
    with tempfile.TemporaryDirectory(prefix="acrobat-kernel-") as name:  # a library that is loaded does not need its file
        folder = Path(name)
        (folder / "k.o").write_bytes(emitted.code.object_bytes)
        (folder / "k.cpp").write_text("#include <cmath>\n#include <cstdint>\n#include <cstring>\n" + emitted.code.source)
        made_of = ["k.o"] if target else ["-O1", "-fPIC", "k.cpp"]
        subprocess.run([compiler(), "-shared", "-o", "k.so", *made_of], check=True, cwd=folder)
        return emitted, getattr(ctypes.CDLL(str(folder / "k.so")), emitted.symbol)


def plain(kernel: Kernel, out_mode: Mode) -> Emitted[CpuCode]:
    name, declaration = reference.symbol(kernel, out_mode), reference.declaration(kernel, out_mode)
    code = CpuCode(b"", 1, reference.scratch_size(kernel), declaration, reference.source(kernel, out_mode))
    packs = {p.name: PLAIN for p in kernel.params if p.mode is Mode.SHARED}
    return Emitted(name, name, None, packs, 0, code)


@dataclass
class Run:
    """A kernel with operands for `rows` rows: `weights` by name, for each row operand an array (or list of arrays) for each
    row."""

    kernel: Kernel
    rows: int
    weights: dict[str, np.ndarray]
    operands: dict[str, list[Any]]

    def expected(self) -> list[list[np.ndarray]]:
        """Results of each row, in float64."""
        out = []
        for row in range(self.rows):
            env: dict[Any, Any] = {name: w.astype(np.float64) for name, w in self.weights.items()}
            for name, values in self.operands.items():
                value = values[row]
                env[name] = [v.astype(np.float64) for v in value] if isinstance(value, list) else value.astype(np.float64)
            for instr in self.kernel.body:
                args = [env[a] if isinstance(a, str) else a for a in instr.args]
                env[instr.name] = evaluate(instr.op, args, dict(instr.attrs), instr.type)
            out.append([env[r] for r in self.kernel.results])
        return out


def random_run(kernel: Kernel, rows: int, seed: int = 0, scale: float = 1.0) -> Run:
    rng = np.random.default_rng(seed)

    def array(t: TensorT) -> np.ndarray:
        return (rng.standard_normal(t.shape) * scale).astype(np.float32)

    weights = {p.name: array(p.type) for p in kernel.params if p.mode is Mode.SHARED}
    operands: dict[str, list[Any]] = {}
    for p in kernel.params:
        if p.mode is Mode.LIST:
            operands[p.name] = [[array(p.type) for _ in range(rng.integers(0, 4))] for _ in range(rows)]
        elif p.mode is not Mode.SHARED:
            operands[p.name] = [array(p.type) for _ in range(rows)]
            if p.mode is Mode.GATHERED and rows > 2:
                operands[p.name][2] = operands[p.name][0]
    return Run(kernel, rows, weights, operands)


class ScatteredMemory:
    """Memory for one call of a kernel: arrays lie at random distances before and after the base pointer, which is aligned to 4
    bytes only. All of the memory that nothing lies in is UNTOUCHED."""

    def __init__(self, room: int, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        memory = np.full(room + 1, UNTOUCHED, np.float32)
        self.floats = memory[1 if memory.ctypes.data % 64 == 0 else 0 :]
        self.origin = room // 2  # where the base pointer points to
        self.end = 7  # behind the last array so far
        self._kept: list[np.ndarray] = []  # arrays that pointers have been given out to

    def place(self, array: np.ndarray) -> int:
        """Put an array behind the last one. Gives its offset from the base pointer."""
        start = self.end
        self.floats[start : start + array.size] = array.reshape(-1)
        self.end += array.size + int(self.random.integers(0, 4))
        return start - self.origin

    def place_rows(self, arrays: Sequence[np.ndarray], stride: int) -> int:
        """Put arrays `stride` floats apart. Gives the offset of the first from the base pointer."""
        start = self.end
        for i, array in enumerate(arrays):
            self.floats[start + i * stride : start + i * stride + array.size] = array.reshape(-1)
        self.end = start + len(arrays) * stride
        return start - self.origin

    def pointer(self, array: np.ndarray) -> ctypes.c_void_p:
        """The address of a copy of an array, which stays where it is as long as this memory."""
        self._kept.append(np.ascontiguousarray(array))
        return ctypes.c_void_p(self._kept[-1].ctypes.data)

    @property
    def base(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.floats.ctypes.data + 4 * self.origin)


def execute(
    run: Run,
    out_mode: Mode = Mode.GATHERED,
    target: CpuTarget | None = HERE,
    pieces: Sequence[tuple[int, int, int, int]] | None = None,
    schedule: KernelSchedule | None = None,
) -> list[list[np.ndarray]]:
    """The results of each row. `pieces` are the calls (row_begin, row_end, part_begin, part_end) to make, by default one for
    everything. Operands lie in `ScatteredMemory`; rows that are one object share their place.

    Checks that nothing is written outside the rows of results, nor between results beyond their padding."""
    kernel, rows = run.kernel, run.rows
    emitted, function = compiled(kernel, out_mode, target, schedule)
    memory, arguments = _operands(run, emitted)
    stride = kernel.row_size + 5
    start = memory.end + 3
    order = memory.random.permutation(rows) if out_mode is Mode.GATHERED else np.arange(rows)
    outs = start + order * stride
    if out_mode is Mode.GATHERED:
        arguments.append(memory.pointer(outs - memory.origin))
    else:
        arguments += [ctypes.c_int64(start - memory.origin), ctypes.c_int64(stride)]
    before = memory.floats.copy()
    scratch = memory.pointer(np.zeros(emitted.code.scratch_size + 1, np.float32))
    for row_begin, row_end, part_begin, part_end in pieces or [(0, rows, 0, emitted.code.parts)]:
        ends = ctypes.c_int64(row_begin), ctypes.c_int64(row_end)
        assert function(memory.base, *ends, part_begin, part_end, *arguments, scratch) == 0
    results = []
    written = np.zeros(len(memory.floats), bool)
    for out in outs:
        row = []
        for at, t in zip(kernel.displacements, kernel.result_types, strict=True):
            padded = displacements((t,))[1]
            written[out + at : out + at + padded] = True
            value = memory.floats[out + at : out + at + t.width].copy()
            row.append(value.view(np.int64).reshape(t.shape) if t.dtype == "int64" else value.reshape(t.shape))
        results.append(row)
    np.testing.assert_array_equal(memory.floats[~written], before[~written], "written outside the results")
    return results


def _operands(run: Run, emitted: Emitted) -> tuple[ScatteredMemory, list[Any]]:
    """Memory with the operands of a run in it and room for its results, and the arguments of the call for the operands."""
    kernel, rows = run.kernel, run.rows
    arrays = {id(a): a for values in run.operands.values() for v in values for a in (v if isinstance(v, list) else [v])}
    room = 64 + sum(a.size + 3 for a in arrays.values()) + 4 * rows * (kernel.row_size + 5)
    room += sum(rows * (p.type.size + 3) for p in kernel.params if p.mode is Mode.CONTIGUOUS)
    memory = ScatteredMemory(room, rows)
    where: dict[int, int] = {}
    for key in memory.random.permutation(np.array(list(arrays), np.int64)):
        where[int(key)] = memory.place(arrays[int(key)])
    arguments: list[Any] = []
    for p in kernel.params:
        if p.mode is Mode.SHARED:
            arguments.append(memory.pointer(pack(emitted.packs[p.name], run.weights[p.name])))
            continue
        operands = run.operands[p.name]
        if p.mode is Mode.CONTIGUOUS:
            stride = p.type.size + 3
            arguments += [ctypes.c_int64(memory.place_rows(operands, stride)), ctypes.c_int64(stride)]
        elif p.mode is Mode.GATHERED:
            arguments.append(memory.pointer(np.array([where[id(a)] for a in operands], np.int64)))
        else:
            arguments.append(memory.pointer(np.cumsum([0, *map(len, operands)], dtype=np.int64)))
            arguments.append(memory.pointer(np.array([where[id(a)] for items in operands for a in items], np.int64)))
    return memory, arguments


def check(run: Run, results: list[list[np.ndarray]], tolerance: float = 2e-5) -> None:
    for row, (got, want) in enumerate(zip(results, run.expected(), strict=True)):
        for j, (g, w) in enumerate(zip(got, want, strict=True)):
            np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance, err_msg=f"row {row}, result {j}")
