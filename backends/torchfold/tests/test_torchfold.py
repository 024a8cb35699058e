"""Compares TorchFold's programs with the model source in float64, and tests how the library is imported."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
import torch

from backends.torchfold.backend import TorchFold
from bench import facts
from bench.contract import Target, Unsupported
from workloads.tests.cases import assert_right, cases_with_programs
from workloads.tests.conftest import spec

installed = pytest.mark.skipif(find_spec("torchfold") is None, reason="TorchFold is not installed")
PROGRAMS, CASES = cases_with_programs(__file__)
TWO_RESULTS = ("crf", "lattice", "mvrnn", "simtree", "treelstm")
"""In these only operations on words alone are recognised as equal."""


def compiled(workload: str) -> Any:
    return TorchFold(Target(threads=1)).compile(spec(workload), "tiny", 0, 8)


def test_there_are_programs() -> None:
    trees = {"mvrnn", "simtree", "treefc", "treegru", "treelstm", "treernn"}
    assert set(PROGRAMS) == {"birnn", "crf", "dagrnn", "lattice"} | trees


@installed
@pytest.mark.parametrize("name", CASES)
def test_outputs_are_right(name: str) -> None:
    assert_right(name, compiled(CASES[name].workload))


@installed
@pytest.mark.parametrize("workload", PROGRAMS)
def test_equal_instances_are_computed_once_where_nodes_have_one_result(workload: str) -> None:
    model, instances = compiled(workload), CASES[f"{workload}, all equal"].instances
    model.run(instances)
    together = model.counters()
    model.run(instances[:1])
    alone = model.counters()
    assert together["batches"] == alone["batches"] > 1
    if workload in TWO_RESULTS:
        assert alone["nodes"] < together["nodes"] < 4 * alone["nodes"]
    else:
        assert together["nodes"] == alone["nodes"]
    assert alone["construct_ms"] > 0 and alone["kernel_ms"] > 0


@installed
def test_instances_batch() -> None:
    model = compiled("treelstm")
    model.run(CASES["treelstm"].instances)
    assert model.counters()["mean_batch_width"] > 2


@installed
def test_importing_changes_only_what_torchfold_sees() -> None:
    from backends.torchfold.library import load

    assert load() is load()
    assert not hasattr(torch.tensor, "_TensorBase")


@installed
def test_facts_name_the_library() -> None:
    assert facts.validated_facts(compiled("treelstm").facts())["library"].startswith("TorchFold 0.1.0 on PyTorch")


def test_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert TorchFold(Target()).available() == "TorchFold is not installed: pip install 'torchfold==0.1.0'"


def test_what_waits_for_tensors() -> None:
    with pytest.raises(Unsupported, match="drnn: nothing is computed before all operations have been added"):
        compiled("drnn")
