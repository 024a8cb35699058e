"""What the runtime costs beside the kernels, in nanoseconds of one thread: recording an operation, resuming a waiting call.

python -m pytest backends/acrobat/benchmarks/bench_runtime.py --benchmark-enable
"""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from backends.acrobat import compile
from backends.acrobat.options import Codegen, Executor, Options
from backends.acrobat.tests.models import Unequal, WideWaits

CALLS = 20_000
ROUNDS = 21


def nanoseconds(executable: Any, instances: list[Any], count: str) -> float:
    """The median over rounds of construction time by what was counted."""
    found = []
    for _ in range(ROUNDS):
        executable(instances)
        counters = executable.counters()
        found.append(counters["construct_ms"] * 1e6 / counters[count])
    return float(median(found))


def report(benchmark: BenchmarkFixture, executable: Any, instances: list[Any], count: str, name: str) -> None:
    cost = nanoseconds(executable, instances, count)
    benchmark.name = f"{benchmark.name}: {cost:.1f} ns a {name}"
    benchmark.extra_info[f"nanoseconds a {name}"] = round(cost, 1)
    benchmark.pedantic(executable, args=(instances,), rounds=5)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
@pytest.mark.parametrize("executor", ["inline", "dataflow", "agenda"])
def test_recording(benchmark: BenchmarkFixture, executor: Executor, codegen: Codegen) -> None:
    torch.manual_seed(0)
    executable = compile(Unequal(), options=Options(executor=executor, codegen=codegen))
    report(benchmark, executable, [[1] * (CALLS // 100)] * 100, "nodes", "node")


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_resuming(benchmark: BenchmarkFixture, codegen: Codegen) -> None:
    """Forked calls that each wait twice: the time has their start, two operations and two decisions in it too."""
    torch.manual_seed(0)
    executable = compile(WideWaits(), options=Options(codegen=codegen))
    report(benchmark, executable, [[i % 7 for i in range(CALLS // 100)]] * 100, "waits", "wait")
