"""Tests by counters what is batched and when it is analysed, and that analyses are kept for equal structures only."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from backends.jitbatch.backend import JitBatch
from backends.jitbatch.model import Model
from bench.contract import Target
from workloads.stackrnn.model import Sentence
from workloads.tests.conftest import spec
from workloads.treelstm.model import Leaf, Node


def compiled(name: str, granularity: Any = "cell", cache: bool = True) -> Model:
    return JitBatch(Target(), granularity, cache).compile(spec(name), "tiny", 3, 6)


def pair(a: int, b: int) -> Node:
    return Node([Leaf(a), Leaf(b)])


def test_equal_structures_share_a_plan_and_differ_in_their_outputs() -> None:
    model = compiled("treelstm")
    one = model.run([pair(1, 2), pair(3, 4)])
    assert (model.counters()["analyses"], model.counters()["cache_hits"]) == (1, 0)
    other = model.run([pair(5, 6), pair(1, 2)])
    assert (model.counters()["analyses"], model.counters()["cache_hits"]) == (0, 1)
    assert model.counters()["analysis_ms"] == 0
    torch.testing.assert_close(one[0], other[1])
    assert not torch.allclose(one[0], other[0])
    assert not torch.allclose(one[1], other[0])
    model.run([pair(5, 6), Leaf(1)])
    assert (model.counters()["analyses"], model.counters()["cache_hits"]) == (1, 0)


def test_operands_in_another_order_are_another_structure() -> None:
    model = compiled("treelstm")
    left = Node([pair(1, 2), Leaf(3)])
    right = Node([Leaf(3), pair(1, 2)])
    model.run([left])
    model.run([right])
    assert model.counters()["analyses"] == 1


def test_without_the_cache_every_minibatch_is_analysed() -> None:
    model = compiled("treelstm", cache=False)
    for _ in range(2):
        model.run([pair(1, 2)])
        assert (model.counters()["analyses"], model.counters()["cache_hits"]) == (1, 0)
        assert 0 < model.counters()["analysis_ms"] < model.counters()["schedule_ms"]
    assert not model.plans.cached


def test_waits_are_plans_that_follow_one_another() -> None:
    model = compiled("stackrnn")
    sentences = [Sentence(list(range(9)), 5), Sentence(list(range(7)), 8)]
    model.run(sentences)
    analyses = model.counters()["analyses"]
    assert analyses == model.counters()["flushes"] > 3
    model.run(sentences)
    assert (model.counters()["analyses"], model.counters()["cache_hits"]) == (0, analyses)


def test_the_batches_of_two_trees() -> None:
    """The batches are: word vectors; leaves; the inner nodes of the pairs; the root of the larger tree; and the classifiers, at
    two depths."""
    trees = [Node([pair(1, 2), Leaf(3)]), pair(4, 5)]
    cell = compiled("treelstm")
    cell.run(trees)
    found = cell.counters()
    assert found["nodes"] == 5 + 5 + 3 + 2  # word vectors, leaves, inner nodes, classifiers
    assert found["batches"] == 1 + 1 + 2 + 2
    assert found["mean_batch_width"] == pytest.approx(15 / 6)
    operator = compiled("treelstm", "operator")
    operator.run(trees)
    finer = operator.counters()
    assert finer["nodes"] > 4 * found["nodes"]
    assert finer["batches"] > 4 * found["batches"]


def test_more_instances_make_wider_batches_and_no_more_of_them() -> None:
    model = compiled("treelstm")
    model.run([pair(1, 2)])
    one = model.counters()
    model.run([pair(word, word + 1) for word in range(20)])
    many = model.counters()
    assert many["batches"] == one["batches"]
    assert many["mean_batch_width"] == 20 * one["mean_batch_width"]


def test_old_plans_go_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backends.jitbatch.model.CACHED_RESULTS", 60)
    model = compiled("treelstm")
    trees: list[Any] = [Leaf(1)]
    for word in range(8):
        trees.append(Node([trees[-1], Leaf(word)]))
        model.run([trees[-1]])
    assert 0 < len(model.plans.cached) < 8
    assert model.plans.results <= 60
    model.run([trees[1]])
    assert model.counters()["analyses"] == 1


def test_a_method_with_a_wait_is_no_cell() -> None:
    workload = spec("stackrnn")
    workload.cells = ("step", "compose", "parse")  # type: ignore[misc]
    model = JitBatch(Target(), "cell").compile(workload, "tiny", 3, 6)
    model.run(workload.instances("tiny", 1, 3))
    assert list(model.counters()["unbatched"]) == ["parse"]
