"""Builds many small programs at once, as one translation unit and one shared object.

Each program has a namespace and a function that returns its model. Equal kernels are defined once. Compiling kernels with LLVM
takes longer than all the rest of a build, so the kernels of most programs are *plain*: C++ loops that the reference emitter
writes into the same translation unit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backends.acrobat.builds import Build, Generated
from backends.acrobat.codegen.build import compile_model
from backends.acrobat.codegen.devices import DEVICES
from backends.acrobat.codegen.executable import Executable
from backends.acrobat.codegen.module import source
from backends.acrobat.compiler import load
from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.ir.nodes import Program
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.interface import CpuCode, Schedules, Variant
from backends.acrobat.kernels.tests import reference
from backends.acrobat.options import Device as DeviceName
from backends.acrobat.options import Kernels, Options
from backends.acrobat.settings import Settings
from backends.acrobat.tests.sanitizers import plain_variant

MEMORY_LIMIT = 1 << 30


@dataclass
class PlainKernels:
    """An emitter that writes the kernels of one program as plain C++ and keeps their text."""

    definitions: dict[str, str] = field(default_factory=dict)
    """The C++ text of each kernel, by symbol."""

    def __call__(
        self, kernel: Kernel, out_mode: Mode, target: CpuTarget, schedules: Schedules = (), kernels: Kernels = "generated"
    ) -> tuple[Variant[CpuCode], ...]:
        self.definitions[reference.symbol(kernel, out_mode)] = reference.source(kernel, out_mode)
        return (plain_variant(kernel, out_mode, target, b""),)


@dataclass(frozen=True, slots=True)
class Member:
    """What is generated for one program of a batch, before the C++ compiler runs."""

    generated: Generated
    definitions: Mapping[str, str]
    """The C++ text of its plain kernels, by symbol."""


def generated(program: Program, options: Options, index: int, plain: bool = False) -> Member:
    """Generates member `index` of a batch from a finished program. `plain`: with plain kernels."""
    kernels = PlainKernels()
    build = Build(program, options, CpuTarget.detect(), emit=kernels if plain else None, prefix=f"acrobat{index}")
    return Member(build.generate(), kernels.definitions)


def build_batch(members: Sequence[Member], folder: Path, flags: Sequence[str]) -> None:
    """Builds one shared object of all members, and for each a folder that `loaded` loads. Raises BuildError."""
    folder.mkdir(parents=True)
    text = folder / "models.cpp"
    modules = [member.generated.module for member in members]
    includes = list(dict.fromkeys(name for module in modules for name in module.includes))
    kernels = {symbol: text for member in members for symbol, text in member.definitions.items()}
    bodies = [f"namespace m{i} {{\n{module.body}\n}}" for i, module in enumerate(modules)]
    text.write_text(source("Many models.", includes, "\n".join([*kernels.values(), *bodies])))
    objects = []
    for symbol, content in {s: o for member in members for s, o in member.generated.objects.items()}.items():
        if symbol not in kernels:
            objects.append(folder / f"{symbol}.o")
            objects[-1].write_bytes(content)
    compile_model(text, objects, folder / "models.so", flags)
    for i, member in enumerate(members):
        own = folder / str(i)
        own.mkdir()
        (own / "manifest.json").write_text(json.dumps(member.generated.manifest))
        (own / "model.so").symlink_to(folder / "models.so")


def build_alone(program: Program, options: Options, folder: Path, flags: Sequence[str], device: DeviceName) -> None:
    """Builds one program for a device in `folder`, from which `loaded` loads it. Raises BuildError."""
    folder.mkdir(parents=True)
    Build(program, options, DEVICES[device].target(options), flags=tuple(flags)).make(folder)


def loaded(program: Program, options: Options, folder: Path, index: int, device: DeviceName = "cpu") -> Executable:
    """The executable of member `index` of the batch in `folder`, with one thread, in checked mode."""
    settings = Settings(options=options, checked=True, memory_limit=MEMORY_LIMIT, device=device)
    return load(program, folder / str(index), settings)
