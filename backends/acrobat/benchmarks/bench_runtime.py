"""Measures what the runtime costs beside the kernels, in nanoseconds of one thread: reading an instance from Python, recording
an operation, scheduling a batch, resuming a waiting call, handing out a result. `scripts/benchmark runtime` runs it."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from backends.acrobat import compile
from backends.acrobat.options import Codegen, Executor, Options
from backends.acrobat.tests.models import Unequal, WideWaits
from workloads.spec import loaded
from workloads.treelstm.spec import Spec

CALLS = 20_000
ROUNDS = 21


def nanoseconds(executable: Any, instances: list[Any], activity: str, count: str | float) -> float:
    """Nanoseconds of the counter `activity` for each of `count`, a counter or a number: the median over ROUNDS runs."""
    samples = []
    for _ in range(ROUNDS):
        executable(instances)
        counters = executable.counters()
        samples.append(counters[activity] * 1e6 / (counters[count] if isinstance(count, str) else count))
    return float(median(samples))


def report(
    benchmark: BenchmarkFixture,
    executable: Any,
    instances: list[Any],
    count: str | float,
    name: str,
    activity: str = "construct_ms",
) -> None:
    cost = nanoseconds(executable, instances, activity, count)
    benchmark.name = f"{benchmark.name}: {cost:.1f} ns a {name}"
    benchmark.extra_info[f"nanoseconds a {name}"] = round(cost, 1)
    benchmark.pedantic(executable, args=(instances,), rounds=5)


@pytest.mark.parametrize("executor", ["inline", "dataflow", "agenda", "learned"])
def test_recording(benchmark: BenchmarkFixture, executor: Executor, codegen: Codegen) -> None:
    torch.manual_seed(0)
    executable = compile(Unequal(), options=Options(executor=executor, codegen=codegen))
    report(benchmark, executable, [[1] * (CALLS // 100)] * 100, "nodes", "node")


def test_resuming(benchmark: BenchmarkFixture, codegen: Codegen) -> None:
    """Forked calls that each wait twice. The time includes their start, two operations and two decisions."""
    torch.manual_seed(0)
    executable = compile(WideWaits(), options=Options(codegen=codegen))
    report(benchmark, executable, [[i % 7 for i in range(CALLS // 100)]] * 100, "waits", "wait")


@pytest.fixture(scope="module")
def trees() -> tuple[Any, list[Any]]:
    """TreeLSTM at its smallest size with 64 of its trees: little arithmetic, as much of everything else as at any size."""
    workload = Spec()
    return compile(loaded(workload, "tiny", 0)), workload.instances("tiny", 0, 64)


def test_ingest(benchmark: BenchmarkFixture, trees: tuple[Any, list[Any]]) -> None:
    executable, instances = trees
    executable(instances)
    nodes = executable.counters()["nodes"] - len(instances)  # each node is recorded once, and so is each tree's classifier
    report(benchmark, executable, instances, nodes, "node of a tree", "ingest_ms")


def test_scheduling(benchmark: BenchmarkFixture, trees: tuple[Any, list[Any]]) -> None:
    executable, instances = trees
    report(benchmark, executable, instances, "batches", "batch", "schedule_ms")


def test_fetch(benchmark: BenchmarkFixture, trees: tuple[Any, list[Any]]) -> None:
    executable, instances = trees
    report(benchmark, executable, instances, float(len(instances)), "result tensor", "fetch_ms")
