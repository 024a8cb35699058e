"""From a module to an executable: front end, passes, tuning, build (unless the cache has its result) and loading."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from backends.acrobat.analyses.importance import expected_runs
from backends.acrobat.builds import Build
from backends.acrobat.codegen.build import cached, newest
from backends.acrobat.codegen.device import Device, Target
from backends.acrobat.codegen.devices import DEVICES
from backends.acrobat.codegen.executable import Executable
from backends.acrobat.codegen.module import classes_of, collect_units
from backends.acrobat.codegen.units import Units
from backends.acrobat.core.folders import cache_folder
from backends.acrobat.core.span import Span
from backends.acrobat.core.toolchain import BuildError
from backends.acrobat.core.units import Block, Kernel
from backends.acrobat.deep import as_deep_as_needed
from backends.acrobat.errors import CompileError, Problem
from backends.acrobat.finished import finished
from backends.acrobat.frontend import too_deep
from backends.acrobat.frozen import Frozen
from backends.acrobat.garbage import RARE_COLLECTIONS
from backends.acrobat.ir.nodes import Launch, Program
from backends.acrobat.ir.visitor import walk
from backends.acrobat.kernels.interface import Request, Schedules, UnsupportedKernel
from backends.acrobat.passes.constants import evaluate_derived
from backends.acrobat.pipeline import executor_for, optimise
from backends.acrobat.settings import Settings, keywords_of
from backends.acrobat.translated import translated
from backends.acrobat.tuning.tune import Guide


@keywords_of(Settings)
def compile(module: nn.Module, settings: Settings) -> Executable:
    """Compile `module`, whose `forward` takes one instance, for mini-batches on a device of this machine. The keyword arguments
    are the fields of `backends.acrobat.settings.Settings`, which says what each does. The type of an instance is read from the
    annotation of `forward`, or else off the instances given as `sample`.

    The compiled program contains weights, attributes of modules, globals and the like as constants. Each call checks that they
    have not changed, which takes about 0.2 microseconds plus 0.12 for each weight, and raises ModuleChanged if they have: call
    `executable.load(module)` for new weights, and compile the model again for anything else. A change that PyTorch does not
    count (as through `tensor.data`) is noticed anywhere in small weights, and in eight elements of larger ones: LANGUAGE.md
    says which are small. The executable holds the module weakly; once the module is deleted nothing is checked. Results carry
    no gradients.

    Raises CompileError with all that is outside the language, BuildError if there is no usable C++ compiler (which is not
    needed if the cache has the build) or no library for `Options(kernels="vendor")`, UnsupportedCpu if the processor lacks the
    instructions that kernels need or that `Options(isa=...)` asks for, and ValueError for invalid keyword arguments.
    """
    DEVICES[settings.device].check(settings)
    with RARE_COLLECTIONS:
        program, reads = translated(module, settings.sample, settings.cache_folder)
        frozen = Frozen(module, reads, program)
        try:
            executable = as_deep_as_needed(lambda: compile_program(program, frozen, settings))
        except RecursionError:
            raise too_deep(module) from None
    executable.watch(frozen, module)
    if settings.options.executor == "learned" and settings.sample is not None:
        executable.learn([settings.sample])
    return executable


def refused(error: UnsupportedKernel, program: Program) -> CompileError:
    """The error for the user, which names the operations of the kernel that cannot be made, at their line of the model."""
    body = error.kernel.body

    def has(unit: Kernel | Block) -> bool:
        kernels = [unit] if isinstance(unit, Kernel) else [step.kernel for step in unit.steps]
        return any(kernel.body == body for kernel in kernels)

    nodes = [node for f in program.functions.values() for node in walk(f.body)]
    span = next((n.span for n in nodes if isinstance(n, Launch) and has(n.unit)), Span("<model>", 0))
    operations = ", ".join(f"`{op}`" for op in error.operations)
    return CompileError([Problem(span, f"{operations}: {error.reason}", error.advice)])


def compile_program(program: Program, frozen: Frozen, settings: Settings) -> Executable:
    """What `compile` does with the front end's result. `frozen` notes how the finished program derives weights.
    Raises CompileError for a kernel that the device cannot have."""
    device, options = DEVICES[settings.device], settings.options.effective()
    if settings.observe is None:
        program = finished(program, options, settings.cache_folder)
    else:
        program = optimise(program, options, settings.observe)
    frozen.finish(program)
    target = device.target(options)

    def build(schedules: Mapping[Request, Schedules]) -> Path:
        return ensure_built(
            Build(program, options, target, schedules, tuple(settings.flags), settings.emit), settings.cache_folder
        )

    schedules: Mapping[Request, Schedules] = {}
    try:
        if settings.tune or settings.untuned:
            units = collect_units(program, options.merge_steps)
            measurements = (settings.cache_folder or cache_folder()) / "tuning"
            guide = guide_of(program, units, device, target, settings, build) if settings.tune else Guide()
            schedules = device.tuned(units.requests(), target, settings, guide, measurements)
        return load(program, build(schedules), settings)
    except UnsupportedKernel as error:
        raise refused(error, program) from None


def guide_of(
    program: Program,
    units: Units,
    device: Device,
    target: Target,
    settings: Settings,
    build: Callable[[Mapping[Request, Schedules]], Path],
) -> Guide:
    """How trials of tuning are shared out among kernels, as `settings.guide` says. A profile is taken with an untuned build."""
    if settings.guided_by == "profile" and settings.sample is not None:
        plain = Settings(
            device=settings.device,
            options=settings.options.effective(),
            memory_limit=settings.memory_limit,
            policy_trials=settings.policy_trials,
            policy_seed=settings.policy_seed,
            cache_folder=settings.cache_folder,
        )
        untuned = load(program, build({}), plain)
        profile = untuned.profile(settings.sample)
        untuned.close()
        return Guide(profile)
    if settings.guided_by == "static":
        runs: defaultdict[str, float] = defaultdict(float)
        for launch, often in expected_runs(program):
            for call in units.of(launch).calls:
                runs[device.symbol(call.request, target)] += often * len(call.parts)
        return Guide.static(runs)
    return Guide()


def ensure_built(build: Build, folder: Path | None = None) -> Path:
    """The folder of a build, which is made unless the cache has it. Without a C++ compiler, a build in the cache that any
    version of the C++ compiler made is taken. Raises BuildError if there is none."""
    try:
        key = build.key
    except BuildError:
        if (any_build := newest(f"{build.inputs}-", folder)) is None:
            raise
        return any_build
    return cached(key, build.make, folder)


def load(program: Program, folder: Path, settings: Settings) -> Executable:
    """The executable of a finished program, loaded from its build in `folder`."""
    cases: dict[tuple[str, str], Any] = {(d.name, c.name): c.cls for d in program.datatypes.values() for c in d.cases}
    cases |= {(d.name, c.name): c.rank for d in program.datatypes.values() for c in d.cases if c.rank is not None}
    weights = {**program.values, **evaluate_derived(program)}
    options = settings.options.effective()
    settings = replace(settings, options=replace(options, executor=executor_for(program, options)))
    return Executable(folder, weights, [cases[c] for c in classes_of(program)], settings, program.boundary, program.messages)
