"""The versions of the software that a cell's numbers depend on. A stored row is stale when they or its sources change.

A backend names the packages that its numbers depend on in the class attribute `packages`, and the programs it compiles with in
`programs`. The kernel of the operating system does not count: it changes too often to measure everything again.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

from bench import sources
from bench.cell import Cell
from bench.description import described

MEASURING = (
    "breakdown",
    "clock",
    "closing",
    "contract",
    "elapsed",
    "environment",
    "fresh",
    "handover",
    "isolate",
    "judge",
    "measure",
    "oracle",
    "outputs",
    "placing",
    "prepare",
    "running",
    "template",
    "turns",
    "verifier",
    "verify",
    "worker",
)
"""The modules of the harness that decide what is timed and how."""
ALWAYS = ("numpy", "torch")  # make the instances and parameters of every workload


def software(cell: Cell) -> dict[str, str]:
    """Versions by name of all that can change a number of this cell, besides the sources of its workload and backend."""
    versions = {"python": platform.python_version(), "bench": harness()}
    backend = described(cell.backend.target)
    for package in (*ALWAYS, *backend.packages):
        versions[package] = version(package)
    for program in backend.programs:
        versions[program] = program_version(_command(program))
    return versions


def changes(then: Mapping[str, str] | None, now: Mapping[str, str]) -> list[str]:
    """The differences between two results of `software`, as in `torch 2.12 -> 2.13`. `then` is None for an old row without."""
    if then is None:
        return ["measured before rows told their software"]
    names = [name for name in {**now, **then} if then.get(name) != now.get(name)]
    return [f"{name} {then.get(name, 'none')} -> {now.get(name, 'none')}" for name in names]


@cache
def harness() -> str:
    """A hash of the sources in `MEASURING`, and of those that make the right answers."""
    folder = Path(__file__).parent
    return sources.digest([*(folder / f"{name}.py" for name in MEASURING), *sources.oracle_files()])[:8]


@cache
def version(package: str) -> str:
    """The version of an installed package; "none" where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _command(program: str) -> str:
    """What is run for a program. For `g++` that is the compiler that CXX names, or clang++ where there is no g++."""
    if program != "g++":
        return program
    return os.environ.get("CXX") or next(filter(shutil.which, ("g++", "clang++")), "g++")


@cache
def program_version(program: str) -> str:
    """The first line that the program prints for `--version`; "none" where it cannot be run."""
    if shutil.which(program) is None:
        return "none"
    try:
        completed = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "none"
    return completed.stdout.partition("\n")[0].strip() or "none"
