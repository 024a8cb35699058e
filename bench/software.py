"""The software that a cell's numbers depend on: with the sources' hash, what makes a stored row stale when it changes.

A backend names the packages its numbers rest on in the class attribute `packages`, and the programs it compiles with in
`programs`. The kernel of the system is not in it: it changes too often to measure everything again.
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
from bench.targets import resolve

MEASURING = (
    "clock",
    "contract",
    "environment",
    "handover",
    "isolate",
    "judge",
    "measure",
    "prepare",
    "template",
    "turns",
    "verifier",
    "verify",
    "worker",
)
"""The modules of the harness that decide what is timed and how."""
ALWAYS = ("numpy", "torch")  # instances and parameters of every workload


def software(cell: Cell) -> dict[str, str]:
    """Name to version, of what can change a number of this cell beside the sources of workload and backend."""
    found = {"python": platform.python_version(), "bench": harness()}
    try:
        backend: type | None = resolve(cell.backend.target)
    except ImportError:
        backend = None
    for package in (*ALWAYS, *getattr(backend, "packages", ())):
        found[package] = version(package)
    for program in getattr(backend, "programs", ()):
        found[program] = program_version(os.environ.get("CXX", program) if program == "g++" else program)
    return found


def changes(then: Mapping[str, str] | None, now: Mapping[str, str]) -> list[str]:
    """What is other than it was, as in `torch 2.12 -> 2.13`."""
    if then is None:
        return ["measured before rows told their software"]
    names = [name for name in {**now, **then} if then.get(name) != now.get(name)]
    return [f"{name} {then.get(name, 'none')} -> {now.get(name, 'none')}" for name in names]


@cache
def harness() -> str:
    """Hash of the sources that measure."""
    folder = Path(__file__).parent
    return sources.digest(folder / f"{name}.py" for name in MEASURING)[:8]


@cache
def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


@cache
def program_version(program: str) -> str:
    """The first line of what it says of itself."""
    if shutil.which(program) is None:
        return "none"
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "none"
    return done.stdout.partition("\n")[0].strip() or "none"
