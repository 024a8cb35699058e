"""Compares DGL's programs with the model source in float64, and tests how the library is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from backends.dgl.backend import DGL
from bench import facts
from bench.contract import Target, Unsupported
from workloads.tests.cases import assert_right, cases_with_programs
from workloads.tests.conftest import spec

installed = pytest.mark.skipif(find_spec("dgl") is None, reason="DGL is not installed")
PROGRAMS, CASES = cases_with_programs(__file__)


def compiled(workload: str) -> Any:
    return DGL(Target(threads=1)).compile(spec(workload), "tiny", 0, 8)


def test_there_are_programs() -> None:
    trees = {"mvrnn", "simtree", "treefc", "treegru", "treelstm", "treernn"}
    assert set(PROGRAMS) == {"birnn", "crf", "dagrnn", "lattice"} | trees


@installed
@pytest.mark.parametrize("name", CASES)
def test_outputs_are_right(name: str) -> None:
    assert_right(name, compiled(CASES[name].workload))


@installed
@pytest.mark.parametrize("workload", PROGRAMS)
def test_equal_instances_take_no_more_frontiers(workload: str) -> None:
    model, instances = compiled(workload), CASES[f"{workload}, all equal"].instances
    model.run(instances)
    together = model.counters()
    model.run(instances[:1])
    alone = model.counters()
    assert together["nodes"] == 4 * alone["nodes"]
    assert together["batches"] == alone["batches"]
    parts = [alone[part] for part in ("ingest_ms", "construct_ms", "schedule_ms", "kernel_ms")]
    assert min(parts) > 0
    assert sum(parts) + alone["fetch_ms"] == pytest.approx(model.counts.run_ns / 1e6)


@installed
def test_facts_name_the_library() -> None:
    validated = facts.validated_facts(compiled("treelstm").facts())
    assert validated["library"].startswith("DGL 2.1") and "PyTorch" in validated["library"]


@installed
def test_importing_leaves_nothing_behind(tmp_path: Path) -> None:
    """Importing leaves no empty module, no variable in the environment and no file in the user's home."""
    code = (
        "import os, sys; from backends.dgl.library import load; dgl = load();"
        "assert dgl is load() and 'dgl.graphbolt' not in sys.modules and 'DGLBACKEND' not in os.environ"
    )
    environment = {name: value for name, value in os.environ.items() if name != "DGLBACKEND"} | {"HOME": str(tmp_path)}
    completed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr
    assert not (tmp_path / ".dgl").exists()


def test_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert DGL(Target()).available() == "DGL is not installed: pip install 'dgl==2.1.0'"


def test_what_is_no_graph() -> None:
    with pytest.raises(Unsupported, match="drnn: its graph is not known before tensors are computed"):
        compiled("drnn")
