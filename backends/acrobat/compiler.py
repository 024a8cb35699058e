"""From a module to an executable: front end, passes, kernels, generated code, build; each step skipped if the cache has
its result."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from torch import nn

from backends.acrobat.codegen.build import RUNTIME, cached, compile_model
from backends.acrobat.codegen.build import cache_folder as default_folder
from backends.acrobat.codegen.executable import MEMORY_LIMIT, Executable
from backends.acrobat.codegen.module import DOOR, Module, classes_of, collect_units
from backends.acrobat.codegen.vm_module import VmModule
from backends.acrobat.core.toolchain import compiler
from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.deep import as_deep_as_needed
from backends.acrobat.frontend import build_with_reads, too_deep
from backends.acrobat.frozen import Frozen
from backends.acrobat.ir.nodes import Program
from backends.acrobat.ir.printer import print_program
from backends.acrobat.kernels.cpu.emit import Schedules, llvm_version, symbol, variants
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.interface import Emitted, Request, Variant
from backends.acrobat.options import Kernels, Options
from backends.acrobat.passes.constants import evaluate_derived
from backends.acrobat.passes.tables import projects
from backends.acrobat.pipeline import Observe, facts_for, optimise
from backends.acrobat.tuning.tune import tune as tuned

NO_SCHEDULES: Mapping[Request, Schedules] = MappingProxyType({})

Emit: TypeAlias = Callable[[Kernel, Mode, CpuTarget, Schedules, Kernels], tuple[Variant, ...]]
"""What makes a kernel with its schedules: `kernels.cpu.emit.variants`, or a test's own."""


def compile(
    module: nn.Module,
    *,
    threads: int = 1,
    options: Options | None = None,
    checked: bool = False,
    tune: int = 0,
    sample: Sequence[Any] | None = None,
    memory_limit: int = MEMORY_LIMIT,
    cache_folder: Path | None = None,
    observe: Observe | None = None,
    flags: Sequence[str] = (),
    emit: Emit = variants,
) -> Executable:
    """Compile `module`, whose `forward` takes one instance, for mini-batches on this machine's CPU.

    The compiled program has weights, attributes of modules, globals and the like as they are at this moment. Each call looks
    whether they still are, which takes about half a microsecond and 0.2 for each weight, and raises ModuleChanged if not: the
    executable then takes new weights by `executable.load(module)`, and for anything else the model is compiled again. Of a
    change that only `tensor.data` sees (no new tensor, no new version) eight elements of each weight are looked at. The module
    is held weakly, and when it is gone there is nothing to notice. Results carry no gradients.

    `checked` makes every run verify that operands are computed before
    they are used; `memory_limit` (bytes) bounds each arena of a mini-batch; `observe(name, program)` is called after each pass.

    `tune` is how many schedules of kernels are tried beside the default ones, on this machine, at about half a second each
    (paper: auto-scheduling); what is measured is kept in the cache folder. With `sample`, a mini-batch like those to come,
    that is run first, and its profile tells which kernels to spend the trials on and at which numbers of rows (paper:
    profile-guided optimization). Without one, all kernels are tried at 64 rows. With `tune=0` the sample is not used.

    `flags` are further ones for the C++ compiler, `emit` makes the kernels (both for tests).

    Raises CompileError with all that is outside the language, BuildError if there is no usable C++ compiler or, with
    `Options(kernels="vendor")`, no library, UnsupportedCpu if the processor lacks the instructions that kernels need or that
    `Options(isa=...)` asks for, ValueError for a `tune` or a `sample` that cannot be.
    """
    program, reads = build_with_reads(module)
    frozen = Frozen(module, reads, program)

    def work() -> Executable:
        return compile_program(
            program,
            threads=threads,
            options=options,
            checked=checked,
            tune=tune,
            sample=sample,
            memory_limit=memory_limit,
            cache_folder=cache_folder,
            observe=observe,
            flags=flags,
            emit=emit,
            frozen=frozen,
        )

    try:
        executable = as_deep_as_needed(work)
    except RecursionError:
        raise too_deep(module) from None
    executable.watch(frozen, module)
    return executable


def compile_program(
    program: Program,
    *,
    threads: int = 1,
    options: Options | None = None,
    checked: bool = False,
    tune: int = 0,
    sample: Sequence[Any] | None = None,
    memory_limit: int = MEMORY_LIMIT,
    cache_folder: Path | None = None,
    observe: Observe | None = None,
    flags: Sequence[str] = (),
    emit: Emit = variants,
    frozen: Frozen | None = None,
) -> Executable:
    """`compile` from the front end's result on; `frozen` is told what the passes have made of the weights."""
    if isinstance(tune, bool) or not isinstance(tune, int) or tune < 0:
        raise ValueError(f"tune={tune!r}: the number of schedules to try, 0 or more")
    if tune and sample is not None and len(sample) == 0:
        raise ValueError("the sample has no instance to profile: give one mini-batch, or None to tune without a profile")
    options = (options or Options()).effective()
    if tune and options.kernels == "vendor":
        raise ValueError(
            f"tune={tune} with kernels='vendor': a library's kernels have no schedules to try; leave one of them out"
        )
    program = optimise(program, options, observe)
    if frozen is not None:
        frozen.finish(program)
    target = CpuTarget.detect(options.isa)

    def executable(schedules: Mapping[Request, Schedules], threads: int = 1, checked: bool = False) -> Executable:
        key = build_key(program, options, target, schedules, flags, emit)
        folder = cached(key, lambda scratch: build(program, options, target, scratch, schedules, flags, emit), cache_folder)
        return load(program, options, folder, threads=threads, checked=checked, memory_limit=memory_limit)

    schedules: Mapping[Request, Schedules] = {}
    if tune:
        profile = None
        if sample is not None:
            untuned = executable({})
            profile = untuned.profile(sample)
            untuned.close()
        requests = collect_units(program, options.merge_steps).requests()
        schedules = tuned(requests, target, tune, profile, threads, (cache_folder or default_folder()) / "tuning")
    return executable(schedules, threads, checked)


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
        defer=options.defer,
        wave=options.wave,
        executor=options.executor,
        memory_limit=memory_limit,
    )


def by_symbol(emitted: Sequence[Emitted]) -> dict[str, Emitted]:
    """Kernels by their C names. Raises RuntimeError if two that differ have one name: the linker would take one for both."""
    kernels: dict[str, Emitted] = {}
    for e in emitted:
        if kernels.setdefault(e.symbol, e) != e:
            raise RuntimeError(f"two kernels have the symbol {e.symbol}: this is a defect of the compiler")
    return kernels


@dataclass(frozen=True, slots=True)
class Generated:
    """A program before the C++ compiler has seen it: its translation unit, the kernels' objects by symbol, its manifest."""

    module: Module | VmModule
    objects: Mapping[str, bytes]
    manifest: Mapping[str, Any]


def generate(
    program: Program,
    options: Options,
    target: CpuTarget,
    schedules: Mapping[Request, Schedules] = NO_SCHEDULES,
    emit: Emit = variants,
    door: str = DOOR,
) -> Generated:
    """Kernels, generated code and manifest of a finished program. `schedules` has those of the kernels that are tuned; `door`
    begins the names of the functions that its shared object offers."""
    units = collect_units(program, options.merge_steps)
    requests = units.requests()
    emitted = {r: emit(r.kernel, r.out_mode, target, schedules.get(r, ()), options.kernels) for r in requests}
    kernels = by_symbol([v.emitted for each in emitted.values() for v in each])
    module_of = VmModule if options.codegen == "vm" else Module
    module = module_of(program, facts_for(program, options), units, emitted, door)
    manifest = {
        "door": door,
        "weights": module.weights,
        "packed": [{"weight": w, "description": json.loads(packing)} for w, packing in module.packed],
        "outputs": [{"shape": t.shape, "dtype": t.dtype} for t in module.outputs],
        "library": any(e.source for e in kernels.values()),
        "instruction_set": target.instruction_set,
        "llvm": llvm_version() if kernels else "",
        "projects": projects(program),
        "kernels": {
            name: {"flops_per_row": e.flops_per_row, "parts": e.parts, "schedule": asdict(e.schedule)}
            for name, e in kernels.items()
        },
    }
    return Generated(module, {e.symbol: e.object_bytes for e in kernels.values() if not e.source}, manifest)


def build(
    program: Program,
    options: Options,
    target: CpuTarget,
    folder: Path,
    schedules: Mapping[Request, Schedules] = NO_SCHEDULES,
    flags: Sequence[str] = (),
    emit: Emit = variants,
) -> None:
    """Kernels, generated code, shared object and manifest of a finished program, in `folder`."""
    generated = generate(program, options, target, schedules, emit)
    objects = [folder / f"{symbol}.o" for symbol in generated.objects]
    for path, content in zip(objects, generated.objects.values(), strict=True):
        path.write_bytes(content)
    (folder / "model.cpp").write_text(generated.module.source)
    (folder / "program.txt").write_text(print_program(program))
    compile_model(folder / "model.cpp", objects, folder / "model.so", flags)
    (folder / "manifest.json").write_text(json.dumps(generated.manifest, indent=1))


def build_key(
    program: Program,
    options: Options,
    target: CpuTarget,
    schedules: Mapping[Request, Schedules] = NO_SCHEDULES,
    flags: Sequence[str] = (),
    emit: Emit = variants,
) -> str:
    """A hash of all that the build's result depends on."""
    text = "\n".join(
        [
            print_program(program),
            repr((options.hoist, options.phases, options.ghosts, options.merge_steps, options.kernels, options.codegen)),
            repr(target),
            repr(sorted((symbol(r.kernel, r.out_mode, target), repr(each)) for r, each in schedules.items())),
            repr((tuple(flags), emit.__module__, emit.__qualname__)),
            source_hash(),
            tool_version(),
            code_generator(),
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
def code_generator() -> str:
    """A hash of the installed TVM, which has LLVM in it: of the list of its files and their hashes, without importing it."""
    text = ""
    for name in ("apache-tvm", "apache-tvm-ffi"):
        try:
            found = distribution(name)
            text += f"{name} {found.version} {found.read_text('RECORD')}"
        except PackageNotFoundError:
            text += f"{name} is not installed"
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def tool_version() -> str:
    command = shutil.which(compiler())
    return subprocess.run([str(command), "--version"], capture_output=True, text=True).stdout.splitlines()[0]
