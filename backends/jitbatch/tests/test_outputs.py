"""Outputs against the float64 oracle: every workload, every granularity, and mini-batches at the edges."""

from __future__ import annotations

from functools import cache, reduce
from typing import Any

import pytest
import torch

from backends.jitbatch.backend import GRANULARITIES, JitBatch
from backends.jitbatch.model import Model
from bench.contract import Target, Unsupported
from bench.verify import Difference, Expected, fingerprint, flatten
from workloads.mvrnn import model as mv
from workloads.simtree.model import Pair
from workloads.spec import loaded
from workloads.stackrnn.model import Sentence
from workloads.structures import arrays, map_tensors
from workloads.tests.conftest import DECIDING, NAMES, spec
from workloads.treelstm import model as tree

SEED = 3
LEAVES: list[Any] = [tree.Leaf(word) for word in range(60)]
CHAIN = reduce(lambda below, leaf: tree.Node([below, leaf]), LEAVES)
FAN = tree.Node([tree.Node(LEAVES[:1]), tree.Node(LEAVES[1:4]), *LEAVES[4:9]])
ENDS: list[Any] = [mv.Leaf(word) for word in range(40)]
EDGES: dict[str, tuple[str, list[Any]]] = {
    "one leaf": ("treelstm", [LEAVES[5]]),
    "a leaf, any number of children, a long chain": ("treelstm", [LEAVES[5], FAN, CHAIN, LEAVES[7]]),
    "the same tree twice": ("treelstm", [FAN, FAN]),
    "two leaves, a leaf and a chain": ("simtree", [Pair(LEAVES[5], LEAVES[5]), Pair(CHAIN, LEAVES[7])]),
    "mvrnn, a leaf and a long chain": ("mvrnn", [ENDS[3], reduce(lambda below, leaf: mv.Node(leaf, below), ENDS)]),
    "birnn, no words, one, many": ("birnn", [[], [3], list(range(90)), [], [4, 4]]),
    "birnn, no words at all": ("birnn", [[], []]),
    "stackrnn, no words, one, many": ("stackrnn", [Sentence([], 1), Sentence([7], 2), Sentence(list(range(40)), 4)]),
}


@cache
def compiled(name: str, granularity: Any, **options: str) -> Model:
    return JitBatch(Target(), granularity).compile(spec(name, **options), "tiny", SEED, 6)


def model(name: str, granularity: str, **options: str) -> Model:
    try:
        return compiled(name, granularity, **options)
    except Unsupported as reason:
        if granularity != "subtree":
            raise
        pytest.skip(str(reason))


def check(made: Model, name: str, instances: list[Any], **options: str) -> None:
    workload = spec(name, **options)
    oracle: Any = loaded(workload, "tiny", SEED, torch.float64)
    answers = []
    with torch.inference_mode():
        for instance in instances:
            double = map_tensors(lambda t: t.double() if t.is_floating_point() else t, instance)
            scores = workload.scores(oracle, double)
            answers.append((arrays(oracle(double)), None if scores is None else arrays(scores)))
    before = fingerprint(instances)
    expected = Expected(answers)
    for _ in range(2):
        expected.check(flatten(made.fetch(made.run(made.place(instances)))), Difference())
    assert fingerprint(instances) == before


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("name", NAMES)
def test_every_workload(name: str, granularity: str) -> None:
    made = model(name, granularity)
    instances = spec(name).instances("tiny", 1, 12)
    check(made, name, instances[:6])
    check(made, name, instances[6:])
    check(made, name, instances[:1])
    assert made.counters()["unbatched"] == {}


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("name", DECIDING)
def test_real_decisions(name: str, granularity: str) -> None:
    check(model(name, granularity, decisions="real"), name, spec(name).instances("tiny", 2, 5), decisions="real")


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("case", EDGES)
def test_edges(case: str, granularity: str) -> None:
    name, instances = EDGES[case]
    check(model(name, granularity), name, instances)


def test_no_instance() -> None:
    made = model("treelstm", "cell")
    assert made.run([]) == []
    assert made.counters()["batches"] == made.counters()["nodes"] == 0


def test_outputs_are_the_callers_own() -> None:
    made = model("treelstm", "cell")
    instances = spec("treelstm").instances("tiny", 1, 4)
    first = made.run(instances[:2])
    kept = [output.clone() for output in first]
    made.run(instances[2:])
    assert all(torch.equal(a, b) for a, b in zip(first, kept, strict=True)), "a later mini-batch must not overwrite them"


def test_an_error_names_itself_and_leaves_the_model_usable() -> None:
    made = model("treelstm", "cell")
    with pytest.raises(IndexError, match="index 1000 is out of bounds"):
        made.run([LEAVES[1], tree.Node([LEAVES[2], tree.Leaf(1000)])])
    check(made, "treelstm", [LEAVES[1], FAN])
