"""Builds: from a finished program to generated code, kernels, a shared object and a manifest."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from backends.acrobat import versions
from backends.acrobat.codegen.build import compile_model
from backends.acrobat.codegen.device import Device, Target, by_symbol
from backends.acrobat.codegen.devices import DEVICES
from backends.acrobat.codegen.module import PREFIX, ModelSource, collect_units
from backends.acrobat.codegen.outside import Outside
from backends.acrobat.codegen.vm_module import VmModule
from backends.acrobat.ir.nodes import Program
from backends.acrobat.ir.printer import print_program
from backends.acrobat.kernels.interface import Request, Schedules
from backends.acrobat.options import Options
from backends.acrobat.passes.tables import projects
from backends.acrobat.pipeline import schedule_of
from backends.acrobat.settings import Emit

IN_PROGRAM = frozenset(
    {"specialise", "tables", "invariants", "constant_work", "fold_sums", "horizontal", "vertical", "coarsen"}
)
"""The options that passes alone read: they have applied them to the program already."""
IN_TARGET = frozenset({"precision", "isa"})
"""The options that say for which machine, or how exactly, kernels are made: the target has them."""
AT_RUN_TIME = frozenset({"gather_fusion", "defer", "wave", "executor", "memory_planning"})
"""The options that the runtime is given when the build is loaded."""
GENERATION = tuple(f.name for f in fields(Options) if f.name not in IN_PROGRAM | IN_TARGET | AT_RUN_TIME)
"""The options that code generation may read: all others."""


@dataclass(frozen=True, slots=True)
class Generated:
    """What is generated for a program before the C++ compiler runs: its translation unit, the kernels' object files by symbol,
    further files of the build by name, and its manifest."""

    module: ModelSource | VmModule
    objects: Mapping[str, bytes]
    files: Mapping[str, bytes]
    manifest: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Build:
    """The description of a build: everything that its result depends on, except the versions of the tools that make it."""

    program: Program
    """After all passes."""
    options: Options
    """The effective ones (`Options.effective`)."""
    target: Target
    """The machine that kernels are made for, and the name of its device in `DEVICES`."""
    schedules: Mapping[Request, Schedules] = field(default_factory=dict)
    """The schedules of tuned kernels; all others have default schedules."""
    flags: tuple[str, ...] = ()
    """Additional flags for the C++ compiler."""
    emit: Emit | None = None
    """Makes the kernels, in place of the device's own emitter."""
    prefix: str = PREFIX
    """The prefix of the names of the functions that the shared object exports."""

    @property
    def device(self) -> Device:
        return DEVICES[self.target.device]

    @property
    def inputs(self) -> str:
        """A hash of this description and of the versions of this compiler, the maker of kernels and Python, but not of the C++
        compiler's."""
        emit = self.emit or self.device.emit
        text = "\n".join(
            [
                print_program(self.program),
                Outside.of(self.program).text(),
                repr([(name, getattr(self.options, name)) for name in GENERATION]),
                repr(self.target),
                repr(sorted((repr(request), repr(each)) for request, each in self.schedules.items())),
                repr((self.flags, emit.__module__, emit.__qualname__, self.prefix)),
                versions.source_hash(),
                self.device.code_generator(),
                sys.version,
            ]
        )
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def key(self) -> str:
        """The name of the build: `inputs` and a hash of the C++ compiler's version. Raises BuildError if there is none."""
        return f"{self.inputs}-{hashlib.sha256(versions.cpp_compiler().encode()).hexdigest()[:8]}"

    def generate(self) -> Generated:
        """Makes the kernels, the generated code and the manifest."""
        program, target, kind, device = self.program, self.target, self.options.kernels, self.device
        emit = self.emit or device.emit
        units = collect_units(program, self.options.merge_steps)
        emitted = {r: emit(r.kernel, r.out_mode, target, self.schedules.get(r, ()), kind) for r in units.requests()}
        kernels = by_symbol([v for variants in emitted.values() for v in variants])
        artefacts = device.artefacts(kernels, target, self.options, self.flags)
        module_of = VmModule if self.options.codegen == "vm" else ModelSource
        schedule = schedule_of(program, self.options)
        module = module_of(schedule, units, device.writer(emitted), self.prefix)
        manifest = {
            "device": device.name,
            "prefix": self.prefix,
            "weights": module.weights,
            "packed": [{"weight": w, "description": json.loads(packing)} for w, packing in module.packed],
            "outputs": [asdict(t) for t in module.outputs],
            "projects": projects(program),
            "recursive": schedule.recursive,
            **artefacts.manifest,
        }
        return Generated(module, artefacts.objects, artefacts.files, manifest)

    def make(self, folder: Path) -> None:
        """Writes kernels, generated code, shared object and manifest to `folder`. Raises BuildError."""
        generated = self.generate()
        objects = [folder / f"{symbol}.o" for symbol in generated.objects]
        for path, content in zip(objects, generated.objects.values(), strict=True):
            path.write_bytes(content)
        for name, content in generated.files.items():
            (folder / name).write_bytes(content)
        (folder / "model.cpp").write_text(generated.module.source)
        (folder / "program.txt").write_text(print_program(self.program))
        compile_model(folder / "model.cpp", objects, folder / "model.so", self.flags)
        (folder / "manifest.json").write_text(json.dumps(generated.manifest, indent=1))
