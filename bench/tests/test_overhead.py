"""What the harness itself costs for each sample. No time is asserted; `pytest --benchmark-enable` shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pytest_benchmark.fixture import BenchmarkFixture

from bench import clock
from bench.verify import Difference, Expected

ANSWER = np.ones(5, np.float32)


class Nothing:
    """A compiled model that answers 64 instances without any work."""

    def __init__(self) -> None:
        self.outputs = [ANSWER] * 64

    def place(self, instances: Sequence[Any]) -> list[Any]:
        return list(instances)

    def run(self, minibatch: Sequence[Any]) -> Any:
        return self.outputs

    def fetch(self, outputs: Any) -> list[Any]:
        return list(outputs)

    def counters(self) -> Mapping[str, Any]:
        return {}

    def close(self) -> None:
        pass


def test_inside_the_clock(benchmark: BenchmarkFixture) -> None:
    """A call of `run` that does nothing: the overhead that is in every sample."""
    compiled, minibatch = Nothing(), [0] * 64
    benchmark(compiled.run, minibatch)
    assert clock.sample(compiled, minibatch, 0).run_ns >= 0


def test_around_the_clock(benchmark: BenchmarkFixture) -> None:
    """A whole call of `clock.sample`: what is around `run` is in no sample's time, but in the time between samples."""
    compiled, minibatch = Nothing(), [0] * 64
    assert benchmark(clock.sample, compiled, minibatch, 0).outputs.shape == (64, 5)


def test_verifying(benchmark: BenchmarkFixture) -> None:
    """Verifying the outputs of one sample, which is done after each turn."""
    expected = Expected([(ANSWER.astype(float), None)] * 64)
    outputs = clock.sample(Nothing(), [0] * 64, 0).outputs
    assert benchmark(expected.check, outputs, Difference()).n == 64
