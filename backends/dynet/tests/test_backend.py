"""What holds without starting DyNet."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from backends.dynet import pool
from backends.dynet.backend import DyNet
from backends.dynet.interleave import Interleaving, Task, decide
from bench.contract import Target, Unsupported
from workloads.decisions import choose
from workloads.tests.conftest import NAMES, spec


def test_best_is_three_variants() -> None:
    assert DyNet(Target()).variants() == [{"autobatch": 1}, {"autobatch": 2}, {"autobatch": 3}]
    assert DyNet(Target(), autobatch=2).variants() == [{}]


def test_strategies_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match="autobatch is best, 0, 1, 2 or 3, not 4"):
        DyNet(Target(), autobatch=4)  # type: ignore[arg-type]


def test_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "_dynet", None)
    reason = DyNet(Target()).available()
    assert reason is not None
    assert reason.startswith("DyNet cannot be imported")


@pytest.mark.skipif(find_spec("_dynet") is None, reason="DyNet is not installed")
def test_available() -> None:
    assert DyNet(Target()).available() is None
    assert DyNet(Target(device="cuda")).available() in (None, "the installed DyNet has no CUDA")
    assert "dynet" not in sys.modules


def test_a_workload_without_a_program() -> None:
    class Other:
        name = "other"

    with pytest.raises(Unsupported, match="there is no DyNet program for other"):
        DyNet(Target()).compile(Other(), "tiny", 0, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_pools_grow_with_the_batch(name: str) -> None:
    workload = spec(name)
    model, arrays = workload.model("tiny"), workload.params("tiny", 0)
    one, many = (pool.values_mb(name, model, arrays, n) for n in (1, 4096))
    assert 0 < one < many < 4096
    assert pool.parameters_mb(arrays) >= pool.MARGIN_MB


class FakeGraph:
    """Evaluates by calling."""

    def __init__(self) -> None:
        self.waits: list[list[Any]] = []

    def values(self, wanted: list[Any], also: Any = ()) -> list[Any]:
        if wanted:
            self.waits.append(list(wanted))
        return [value * 10 for value in wanted]


def test_all_wait_together_and_forks_with_them() -> None:
    tasks, graph, seen = Interleaving(), FakeGraph(), []

    def task(name: int, waits: int) -> Task:
        for i in range(waits):
            value = yield name + i
            seen.append((name, value))
            if name == 100 and i == 0:
                tasks.start(task(500, 2))

    tasks.start(task(100, 3))
    tasks.start(task(200, 1))
    tasks.start(task(300, 0))
    tasks.run(graph)  # type: ignore[arg-type]
    assert graph.waits == [[100, 200], [101, 500], [102, 501]]
    assert seen == [(100, 1000), (200, 2000), (100, 1010), (500, 5000), (100, 1020), (500, 5010)]


def test_nobody_waits() -> None:
    graph = FakeGraph()
    Interleaving().run(graph)  # type: ignore[arg-type]
    assert graph.waits == []


def test_decisions_are_the_workloads() -> None:
    for key in range(50):
        assert decide(0.3, 2, 9, key, real=False) == choose(key, 2, 9)
    for value in np.linspace(0, 1, 21).tolist():
        assert decide(value, 0, 3, 7, real=True) == min(int(value * 4), 3)
