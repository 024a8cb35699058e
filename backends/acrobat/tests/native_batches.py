"""Many small programs built at once: one translation unit and one shared object.

Each program stands in a namespace of its own and has a function of its own that gives its model; equal kernels are there once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from backends.acrobat.builds import Build, Generated
from backends.acrobat.codegen.build import compile_model
from backends.acrobat.codegen.executable import Executable
from backends.acrobat.codegen.module import source
from backends.acrobat.compiler import load
from backends.acrobat.ir.nodes import Program
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.options import Options
from backends.acrobat.settings import Settings

MEMORY_LIMIT = 1 << 30


def generated(program: Program, options: Options, index: int) -> Generated:
    """What becomes member `index` of a batch; `program` is finished."""
    return Build(program, options, CpuTarget.detect(), prefix=f"acrobat{index}").generate()


def build_batch(members: Sequence[Generated], folder: Path, flags: Sequence[str]) -> None:
    """One shared object of all, and a folder for each that `loaded` takes. Raises BuildError."""
    bodies = [f"namespace m{i} {{\n{member.module.body}\n}}" for i, member in enumerate(members)]
    folder.mkdir(parents=True)
    text = folder / "models.cpp"
    includes = list(dict.fromkeys(name for member in members for name in member.module.includes))
    text.write_text(source("Many models.", includes, "\n".join(bodies)))
    objects = []
    for symbol, content in {s: o for member in members for s, o in member.objects.items()}.items():
        objects.append(folder / f"{symbol}.o")
        objects[-1].write_bytes(content)
    compile_model(text, objects, folder / "models.so", flags)
    for i, member in enumerate(members):
        own = folder / str(i)
        own.mkdir()
        (own / "manifest.json").write_text(json.dumps(member.manifest))
        (own / "model.so").symlink_to(folder / "models.so")


def loaded(program: Program, options: Options, folder: Path, index: int) -> Executable:
    """Member `index`, one thread, checked."""
    return load(program, folder / str(index), Settings(options=options, checked=True, memory_limit=MEMORY_LIMIT))
