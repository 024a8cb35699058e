"""Builds and loads a model: kernels by ACRoBat's emitters, the loop nest by the C++ compiler, all kept in ACRoBat's cache."""

from __future__ import annotations

import ctypes
import hashlib
import json
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from backends.acrobat.codegen.build import FLAGS, RUNTIME, cached, run_compiler
from backends.acrobat.core.ops import OPS
from backends.acrobat.core.toolchain import BuildError, compiler, compiler_version
from backends.acrobat.core.units import Mode
from backends.acrobat.kernels.cpu.emit import emit, llvm_version
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.packing import aligned, pack
from backends.cortex.codegen import Generator
from backends.cortex.lowered import Body, Call, Program, row_size
from backends.cortex.recursion import Tree
from backends.cortex.values import Value

COUNTERS = (
    *("ingest_ms", "schedule_ms", "copy_ms", "kernel_ms", "fetch_ms", "nodes", "batches", "launches", "barriers"),
    *("copied_bytes", "intermediate_bytes", "packed_bytes", "product_flops"),
)
"""The fields of `Counters` in native/session.h, in their order."""
NATIVE = Path(__file__).parent / "native"
POOL = (RUNTIME / "cpu" / "pool.cpp", RUNTIME / "cpu" / "pool.h", RUNTIME / "function_ref.h")
"""ACRoBat's thread pool."""
SHARED_OBJECT, MANIFEST, SOURCE = "model.so", "manifest.json", "model.cpp"


def build(program: Program, target: CpuTarget, folder: Path | None = None) -> Path:
    """The folder with the shared object, its C++ and its manifest, from the cache or newly built. Raises BuildError."""
    parts = [
        program.describe(),
        repr(target),
        source_hash(),
        repr(FLAGS),
        metadata.version("apache-tvm"),
        compiler_version(compiler()),
        sys.version,
    ]
    key = "cortex-" + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    return cached(key, lambda scratch: make(program, target, scratch), folder)


@cache
def source_hash() -> str:
    """A hash of all sources of this project that decide what is built from a program."""
    package = Path(__file__).parent
    emitters = [package.parent / "acrobat" / name for name in ("core", "kernels")]
    files = [*package.glob("*.py"), *NATIVE.glob("*.h"), *POOL]
    files += [path for folder in emitters for path in folder.rglob("*.py") if "tests" not in path.parts]
    return hashlib.sha256(b"".join(p.read_bytes() for p in sorted(files))).hexdigest()


def bodies(program: Program) -> list[Body]:
    """All bodies of a program, some of which are empty."""
    return [program.output, *(b for r in program.recursions for b in (r.leaf, r.inner, r.hoisted))]


def make(program: Program, target: CpuTarget, folder: Path) -> None:
    """Writes the generated C++, the objects of the kernels, the manifest and the shared object to `folder`. Raises BuildError
    if Python's headers are missing or the C++ compiler fails."""
    calls = [step for body in bodies(program) for step in body.steps if isinstance(step, Call)]
    emitted = {call: emit(call.kernel, Mode.CONTIGUOUS, target) for call in calls}
    generator = Generator(program, emitted)
    source = folder / SOURCE
    source.write_text(generator.source())
    objects = []
    for symbol, code in {e.symbol: e.code.object_bytes for e in emitted.values()}.items():
        objects.append(folder / f"{symbol}.o")
        objects[-1].write_bytes(code)
    packs = {e.symbol: e.packs for e in emitted.values()}
    weights = [(s.constant, packs[s.symbol][s.param] if s.symbol else {"layout": "plain"}) for s in generator.shared]
    manifest = {"weights": weights, "llvm": llvm_version(), "instruction_set": target.instruction_set}
    (folder / MANIFEST).write_text(json.dumps(manifest))
    include = sysconfig.get_path("include")
    if not Path(include, "Python.h").exists():
        raise BuildError(f"Python's headers are missing ({include} has no Python.h); install the python3-dev package")
    headers = [f"-I{folder}" for folder in (NATIVE, RUNTIME, include)]
    inputs = map(str, (source, POOL[0], *objects))
    run_compiler(compiler(), [*FLAGS, "-shared", *headers, "-o", str(folder / SHARED_OBJECT), *inputs, "-lpthread"], source)


def evaluate(value: Value, weights: Mapping[str, np.ndarray], memo: dict[int, np.ndarray]) -> np.ndarray:
    """The value of a constant expression, computed in float64. `memo` has the values that are known, by id."""
    if id(value) not in memo:
        if value.op == "weight":
            values = np.asarray(weights[str(value.attributes["name"])], np.float64)
        else:
            args = [evaluate(a, weights, memo) if isinstance(a, Value) else a for a in value.args]
            values = OPS[value.op].evaluate(args, value.attributes)
        memo[id(value)] = np.broadcast_to(values, value.type.shape)
    return memo[id(value)]


class Executable:
    """A loaded model. An output is a tensor, or for sequences and grids lists of tensors."""

    def __init__(self, program: Program, folder: Path, weights: Mapping[str, np.ndarray], threads: int) -> None:
        import torch

        self.torch = torch
        self.program = program
        self.folder = folder
        self.manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
        self._lib = library(folder / SHARED_OBJECT)
        self._session: int | None = self._lib.cortex_create(threads)
        if not self._session:
            raise MemoryError("there is no memory or no thread for a session")
        self._kept: list[Any] = []
        structure = program.structure
        self._nested = not isinstance(structure, Tree)
        if isinstance(structure, Tree):
            self._kept += [structure.leaf, structure.node, structure.instance]
            words = structure.word.encode(), structure.node_word.encode()
            self._lib.cortex_set_tree(self._session, structure.leaf, structure.node, *words)
            for name in structure.children:
                self._lib.cortex_add_children(self._session, name.encode())
            for name in structure.roots:
                self._lib.cortex_add_root(self._session, structure.instance, name.encode())
        for name in program.tables:
            table = np.ascontiguousarray(weights[name], np.float32)
            self._lib.cortex_add_table(self._session, self._address(table), len(table), table[0].size)
        rows = [min((len(weights[name]) for name in tables), default=0) for tables in program.tables_read()]
        self._lib.cortex_set_words(self._session, *rows)
        memo: dict[int, np.ndarray] = {}
        constants = [aligned(np.asarray(evaluate(c, weights, memo), np.float32)) for c in program.constants]
        for constant, packing in self.manifest["weights"]:
            self._add_weight(program.constants[constant], constants[constant], packing)
        for recursion in program.recursions:
            row = np.zeros(max(recursion.row, 1), np.float32)
            for number, start in recursion.outside:
                row[start : start + constants[number].size] = constants[number]
            self._lib.cortex_add_outside(self._session, self._address(aligned(row)))
        calls = [step for body in bodies(program) for step in body.steps if isinstance(step, Call)]
        widest = max((row_size(p.type) for call in calls for p in call.kernel.params), default=1)
        self._lib.cortex_set_up(self._session, self._address(aligned(np.zeros(widest, np.float32))))
        self._shape = program.result.shape
        self._dtype = getattr(torch, program.result.dtype)

    def _address(self, array: np.ndarray) -> int:
        self._kept.append(array)
        return array.ctypes.data

    def _add_weight(self, constant: Value, array: np.ndarray, packing: Mapping[str, Any]) -> None:
        shaped = array.reshape(constant.type.shape)
        ready = pack(packing, shaped)
        target = self._address(ready)
        self._lib.cortex_add_weight(self._session, target)
        if not self.program.options.persist:
            ready[:] = 0
            rows = constant.type.shape[0] if constant.type.shape else 1
            columns = array.size // rows
            layout = (packing["gates"], packing["lanes"], packing["panels"]) if packing["layout"] == "panels" else (1, 0, 0)
            self._lib.cortex_add_packing(self._session, self._address(array), target, rows, columns, *layout)

    def run(self, instances: Sequence[Any]) -> list[Any]:
        """One output for each instance. Raises ValueError, which names the instance, if one does not fit the structure."""
        if self._session is None:
            raise RuntimeError("this executable was closed; compile the model again")
        if not instances:
            return []
        count = self._lib.cortex_read(self._session, list(instances))
        torch = self.torch
        if self._shape:
            rows = self._shape[0]
            buffer = torch.empty((count * rows, *self._shape[1:]), dtype=self._dtype, device="cpu")
            self._lib.cortex_run(self._session, buffer.data_ptr())
            flat = torch.unsafe_split_with_sizes(buffer, [rows] * count) if count else ()
        else:
            buffer = torch.empty(count, dtype=self._dtype, device="cpu")
            self._lib.cortex_run(self._session, buffer.data_ptr())
            flat = buffer.unbind(0)
        if self._nested:
            outputs: list[Any] = self._lib.cortex_nested(self._session, tuple(flat))
            return outputs
        return list(flat)

    def counters(self) -> dict[str, float]:
        values = self._lib.cortex_counters(self._session)
        return {name: values[i] for i, name in enumerate(COUNTERS)}

    def close(self) -> None:
        """Free the session's memory and threads; a second call does nothing."""
        if self._session is not None:
            self._lib.cortex_destroy(self._session)
            self._session = None


def library(path: Path) -> SimpleNamespace:
    """The functions of a shared object (native/interface.h), with their types declared."""
    lib = ctypes.PyDLL(str(path))
    void, obj, text, number = ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p, ctypes.c_int64
    declare = {
        "cortex_create": (void, [ctypes.c_int]),
        "cortex_destroy": (None, [void]),
        "cortex_set_tree": (None, [void, obj, obj, text, text]),
        "cortex_add_children": (None, [void, text]),
        "cortex_add_root": (None, [void, obj, text]),
        "cortex_add_table": (None, [void, void, number, number]),
        "cortex_set_words": (None, [void, number, number]),
        "cortex_add_weight": (None, [void, void]),
        "cortex_add_packing": (None, [void, void, void, number, number, number, number, number]),
        "cortex_add_outside": (None, [void, void]),
        "cortex_set_up": (None, [void, void]),
        "cortex_read": (number, [void, obj]),
        "cortex_run": (number, [void, void]),
        "cortex_nested": (obj, [void, obj]),
        "cortex_counters": (ctypes.POINTER(ctypes.c_double), [void]),
    }
    functions = SimpleNamespace()
    for name, (result, arguments) in declare.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
        setattr(functions, name, function)
    return functions
