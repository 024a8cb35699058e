"""From a module to an executable: front end, passes, kernels, generated code, build; each step skipped if the cache has
its result."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from torch import nn

from backends.acrobat.codegen.build import RUNTIME, cached, compile_model, compiler
from backends.acrobat.codegen.executable import MEMORY_LIMIT, Executable
from backends.acrobat.codegen.module import DOOR, Module, classes_of, collect_units
from backends.acrobat.frontend import build as build_program
from backends.acrobat.ir.nodes import Program
from backends.acrobat.ir.printer import print_program
from backends.acrobat.kernels.emit import emit_all
from backends.acrobat.kernels.target import CpuTarget
from backends.acrobat.options import Options
from backends.acrobat.passes.constants import evaluate_derived
from backends.acrobat.pipeline import Observe, facts_for, optimise


def compile(
    module: nn.Module,
    *,
    threads: int = 1,
    options: Options | None = None,
    checked: bool = False,
    memory_limit: int = MEMORY_LIMIT,
    cache_folder: Path | None = None,
    observe: Observe | None = None,
) -> Executable:
    """Compile `module`, whose `forward` takes one instance, for mini-batches on this machine's CPU.

    The parameters' values are those of this moment. `checked` makes every run verify that operands are computed before
    they are used; `memory_limit` (bytes) bounds each arena of a mini-batch; `observe(name, program)` is called after each pass.
    Raises CompileError with all that is outside the language, BuildError if there is no usable C++ compiler.
    """
    return compile_program(
        build_program(module),
        threads=threads,
        options=options,
        checked=checked,
        memory_limit=memory_limit,
        cache_folder=cache_folder,
        observe=observe,
    )


def compile_program(
    program: Program,
    *,
    threads: int = 1,
    options: Options | None = None,
    checked: bool = False,
    memory_limit: int = MEMORY_LIMIT,
    cache_folder: Path | None = None,
    observe: Observe | None = None,
) -> Executable:
    """`compile` from the front end's result on."""
    options = options or Options()
    program = optimise(program, options, observe)
    target = CpuTarget.detect()
    key = build_key(program, options, target)
    folder = cached(key, lambda scratch: build(program, options, target, scratch), cache_folder)
    return load(program, options, folder, threads=threads, checked=checked, memory_limit=memory_limit)


def load(program: Program, options: Options, folder: Path, *, threads: int, checked: bool, memory_limit: int) -> Executable:
    """A finished program from its build in `folder`."""
    cases = {(d.name, c.name): c.cls for d in program.datatypes.values() for c in d.cases}
    return Executable(
        folder,
        {**program.values, **evaluate_derived(program)},
        [cases[c] for c in classes_of(program)],
        threads=threads,
        checked=checked,
        gather_fusion=options.gather_fusion,
        memory_limit=memory_limit,
    )


@dataclass(frozen=True, slots=True)
class Generated:
    """A program before the C++ compiler has seen it: its translation unit, the kernels' objects by symbol, its manifest."""

    module: Module
    objects: Mapping[str, bytes]
    manifest: Mapping[str, Any]


def generate(program: Program, options: Options, target: CpuTarget, door: str = DOOR) -> Generated:
    """Kernels, generated code and manifest of a finished program. `door` begins the names of the functions that its shared
    object offers."""
    units = collect_units(program)
    requests = units.requests()
    emitted = dict(zip(requests, emit_all([(r.kernel, r.out_mode) for r in requests], target), strict=True))
    module = Module(program, facts_for(program, options), units, emitted, door)
    packs = {e.symbol: e.packs for e in emitted.values()}
    manifest = {
        "door": door,
        "weights": module.weights,
        "packed": [{"weight": w, "description": packs[symbol][param]} for symbol, param, w in module.packed],
        "outputs": [{"shape": t.shape, "dtype": t.dtype} for t in module.outputs],
        "kernels": {e.symbol: {"flops_per_row": e.flops_per_row, "parts": e.parts} for e in emitted.values()},
    }
    return Generated(module, {e.symbol: e.object_bytes for e in emitted.values()}, manifest)


def build(program: Program, options: Options, target: CpuTarget, folder: Path, flags: Sequence[str] = ()) -> None:
    """Kernels, generated code, shared object and manifest of a finished program, in `folder`."""
    generated = generate(program, options, target)
    objects = [folder / f"{symbol}.o" for symbol in generated.objects]
    for path, content in zip(objects, generated.objects.values(), strict=True):
        path.write_bytes(content)
    (folder / "model.cpp").write_text(generated.module.source)
    (folder / "program.txt").write_text(print_program(program))
    compile_model(folder / "model.cpp", objects, folder / "model.so", flags)
    (folder / "manifest.json").write_text(json.dumps(generated.manifest, indent=1))


def build_key(program: Program, options: Options, target: CpuTarget) -> str:
    """A hash of all that the build's result depends on."""
    text = "\n".join(
        [
            print_program(program),
            repr((options.hoist, options.phases)),
            repr(target),
            source_hash(),
            tool_version(),
            sys.version,
        ]
    )
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def source_hash() -> str:
    """A hash of the compiler's own source, generated code's runtime included."""
    root = RUNTIME.parent
    digest = hashlib.sha256()
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.h")]):
        if "tests" not in path.parts:
            digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def tool_version() -> str:
    command = shutil.which(compiler())
    return subprocess.run([str(command), "--version"], capture_output=True, text=True).stdout.splitlines()[0]
