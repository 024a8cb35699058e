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
from backends.acrobat.kernels import reference
from backends.acrobat.kernels.cpu.emit import emit
from backends.acrobat.kernels.cpu.schedule import KernelSchedule
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.interface import CpuCode, Emitted
from backends.acrobat.kernels.packing import PLAIN, pack

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


def execute(
    run: Run,
    out_mode: Mode = Mode.GATHERED,
    target: CpuTarget | None = HERE,
    pieces: Sequence[tuple[int, int, int, int]] | None = None,
    schedule: KernelSchedule | None = None,
) -> list[list[np.ndarray]]:
    """The results of each row. `pieces` are the calls (row_begin, row_end, part_begin, part_end) to make, by default one for
    everything.

    Operands lie shuffled before and after the base pointer, which is aligned to 4 bytes only; rows that are one object share
    their place. Checks that nothing is written outside the rows of results, nor between results beyond their padding.
    """
    kernel, rows = run.kernel, run.rows
    emitted, function = compiled(kernel, out_mode, target, schedule)
    rng = np.random.default_rng(rows)
    arrays = {id(a): a for values in run.operands.values() for v in values for a in (v if isinstance(v, list) else [v])}
    room = 64 + sum(a.size + 3 for a in arrays.values()) + 4 * rows * (kernel.row_size + 5)
    for p in kernel.params:
        room += rows * (p.type.size + 3) if p.mode is Mode.CONTIGUOUS else 0
    memory = np.full(room + 1, UNTOUCHED, np.float32)
    base = memory[1 if memory.ctypes.data % 64 == 0 else 0 :]
    origin = room // 2
    end: int = 7

    def place(array: np.ndarray) -> int:
        nonlocal end
        start: int = end
        base[start : start + array.size] = array.reshape(-1)
        end += array.size + int(rng.integers(0, 4))
        return int(start - origin)

    contiguous = [p for p in kernel.params if p.mode is Mode.CONTIGUOUS]
    where: dict[int, int] = {}
    for key in rng.permutation(np.array(list(arrays), np.int64)):
        where[int(key)] = place(arrays[int(key)])
    keep: list[np.ndarray] = []

    def address(array: np.ndarray) -> ctypes.c_void_p:
        keep.append(np.ascontiguousarray(array))
        return ctypes.c_void_p(keep[-1].ctypes.data)

    arguments: list[Any] = []
    for p in kernel.params:
        if p.mode is Mode.SHARED:
            arguments.append(address(pack(emitted.packs[p.name], run.weights[p.name])))
        elif p in contiguous:
            stride = p.type.size + 3
            start = end
            for i, a in enumerate(run.operands[p.name]):
                base[start + i * stride : start + i * stride + a.size] = a.reshape(-1)
            end = start + rows * stride
            arguments += [ctypes.c_int64(start - origin), ctypes.c_int64(stride)]
        elif p.mode is Mode.GATHERED:
            arguments.append(address(np.array([where[id(a)] for a in run.operands[p.name]], np.int64)))
        else:
            lists = run.operands[p.name]
            arguments.append(address(np.cumsum([0, *map(len, lists)], dtype=np.int64)))
            arguments.append(address(np.array([where[id(a)] for items in lists for a in items], np.int64)))
    stride = kernel.row_size + 5
    start = end + 3
    order = rng.permutation(rows) if out_mode is Mode.GATHERED else np.arange(rows)
    outs = start + order * stride
    if out_mode is Mode.GATHERED:
        arguments.append(address(outs - origin))
    else:
        arguments += [ctypes.c_int64(start - origin), ctypes.c_int64(stride)]
    before = base.copy()
    scratch = address(np.zeros(emitted.code.scratch_size + 1, np.float32))
    head = ctypes.c_void_p(base.ctypes.data + 4 * origin)
    for row_begin, row_end, part_begin, part_end in pieces or [(0, rows, 0, emitted.code.parts)]:
        assert (
            function(head, ctypes.c_int64(row_begin), ctypes.c_int64(row_end), part_begin, part_end, *arguments, scratch) == 0
        )
    results = []
    written = np.zeros(len(base), bool)
    for out in outs:
        row = []
        for at, t in zip(kernel.displacements, kernel.result_types, strict=True):
            width = t.width
            padded = displacements((t,))[1]
            written[out + at : out + at + padded] = True
            value = base[out + at : out + at + width].copy()
            row.append(value.view(np.int64).reshape(t.shape) if t.dtype == "int64" else value.reshape(t.shape))
        results.append(row)
    np.testing.assert_array_equal(base[~written], before[~written], "written outside the results")
    return results


def check(run: Run, results: list[list[np.ndarray]], tolerance: float = 2e-5) -> None:
    for row, (got, want) in enumerate(zip(results, run.expected(), strict=True)):
        for j, (g, w) in enumerate(zip(got, want, strict=True)):
            np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance, err_msg=f"row {row}, result {j}")
