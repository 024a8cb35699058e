"""Compares outputs with the float64 oracle: every workload and edge case, at every granularity."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch

from backends.jitbatch.backend import GRANULARITIES, JitBatch
from backends.jitbatch.model import Model
from bench.contract import Target, Unsupported
from bench.outputs import fingerprint, flatten
from bench.verify import Difference
from workloads.tests.cases import cases, expected
from workloads.tests.conftest import NAMES, spec
from workloads.treelstm.model import Leaf, Node

TREES = {"treelstm", "mvrnn", "simtree", "treegru", "treernn", "treefc"}


@cache
def compiled(name: str, granularity: Any, *options: tuple[str, str]) -> Model | str:
    """The model, or the reason why it is unsupported."""
    try:
        return JitBatch(Target(), granularity).compile(spec(name, **dict(options)), "tiny", 0, 6)
    except Unsupported as reason:
        return str(reason)


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("name", [name for name, case in cases().items() if case.instances])
def test_outputs_are_right(name: str, granularity: str) -> None:
    case = cases()[name]
    model = compiled(case.workload, granularity, *case.options.items())
    if isinstance(model, str):
        pytest.skip(model)
    before = fingerprint(case.instances)
    for _ in range(2):
        expected(name).check(flatten(model.fetch(model.run(model.place(case.instances)))), Difference())
    assert fingerprint(case.instances) == before
    assert model.counters()["unbatched"] == {}


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("name", NAMES)
def test_what_a_granularity_cannot_do(name: str, granularity: str) -> None:
    model = compiled(name, granularity)
    if granularity != "subtree" or name in TREES:
        assert isinstance(model, Model)
    elif name == "drnn":
        assert (
            model == "granularity=subtree defers recursive calls over structures, and of drnn: grow waits for tensors' values"
        )
    else:
        assert model == f"granularity=subtree defers recursive calls over structures, and of {name}: it has none"


def test_no_instance() -> None:
    model = compiled("treelstm", "subtree")
    assert isinstance(model, Model)
    assert model.run([]) == []
    assert model.counters()["batches"] == model.counters()["nodes"] == 0


def test_outputs_are_the_callers_own() -> None:
    model = compiled("treelstm", "cell")
    assert isinstance(model, Model)
    instances = spec("treelstm").instances("tiny", 1, 4)
    first = model.run(instances[:2])
    copies = [output.clone() for output in first]
    model.run(instances[2:])
    assert all(torch.equal(a, b) for a, b in zip(first, copies, strict=True)), "a later mini-batch must not overwrite them"


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_an_error_leaves_the_model_usable(granularity: str) -> None:
    model = compiled("treelstm", granularity)
    assert isinstance(model, Model)
    right = [Node([Leaf(1), Leaf(2)]), Node([Leaf(3), Leaf(-97)])]
    before = model.run(right)
    with pytest.raises(IndexError, match="index 100 is out of bounds for dimension 0 with size 100"):
        model.run([Node([Leaf(1), Leaf(2)]), Node([Leaf(2), Leaf(100)])])
    after = model.run([right[0], Node([Leaf(3), Leaf(3)])])
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True)), "a negative word counts from the end"
