"""Which modules of the harness make stored rows stale when they change."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import bench
from bench import api, software
from bench.software import MEASURING

FOLDER = Path(bench.__file__).parent
ASIDE = frozenset(
    [
        "answers",
        "cache",
        "cell",
        "config",
        "delays",
        "description",
        "devices",
        "energy",
        "facts",
        "family",
        "files",
        "instructions",
        "interval",
        "log",
        "machine",
        "memory",
        "monitor",
        "options",
        "outcome",
        "peak",
        "record",
        "registry",
        "replies",
        "software",
        "sources",
        "standing",
        "stats",
        "status",
        "store",
        "targets",
        "validate",
    ]
)
"""Modules that measuring uses, and that decide neither what is timed nor how it is checked."""


def imported(module: str) -> set[str]:
    """The modules of `bench` itself that a module of it imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((FOLDER / f"{module}.py").read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "bench":
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("bench."):
            names.add(str(node.module).split(".")[1])
    return {name for name in names if (FOLDER / f"{name}.py").exists()}


def test_the_version_of_the_compiler_is_that_of_the_one_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", "")
    assert software._command("g++") == "g++", "there is none"
    for name in ("clang++", "g++", "mine"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        assert software._command("g++") == ("clang++" if name == "clang++" else "g++")
    monkeypatch.setenv("CXX", "mine")
    assert software._command("g++") == "mine"
    monkeypatch.setenv("CXX", "nothing")
    assert software._command("g++") == "nothing", "the backend refuses it too"
    assert software._command("cc") == "cc"


def test_every_module_that_measures_is_known_as_one_or_set_aside() -> None:
    """A module that is taken out of one that measures measures too."""
    reached: set[str] = set()
    waiting = {"measure", "worker", "template"}
    while waiting:
        module = waiting.pop()
        reached.add(module)
        waiting |= imported(module) - reached
    assert reached == ASIDE | set(MEASURING)
    assert not ASIDE & set(MEASURING)


@pytest.mark.parametrize(("backend", "names"), [("acrobat", {"apache-tvm", "g++"}), ("dynet", {"dyNET38"})])
def test_a_row_names_the_versions_of_what_its_backend_is_made_of(backend: str, names: set[str]) -> None:
    cell, *_ = api.cells("workload=treelstm", f"backend=[{backend}]", "size=tiny")
    assert {"python", "numpy", "torch", "bench", *names} <= software.software(cell).keys()
