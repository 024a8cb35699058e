"""Hand-batched programs as they are, with either library, and with torch.compile for what they do at each level or step: a
mini-batch of 64 instances (small; 16 of Berxit, which takes seconds), one thread, in time of this thread. `scripts/benchmark
handbatched` runs it.

torch.compile leaves products to PyTorch's library and makes kernels of the element-wise operators between them, for any number
of rows (`dynamic`), since levels and steps have as many as the mini-batch gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import thread_time
from typing import Any, Literal

import numpy as np
import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from torch import Tensor

from backends.handbatched.backend import HandBatched
from backends.pytorch.batched import Batched
from bench.contract import Target
from bench.outputs import flatten
from workloads.tests.conftest import spec

Way = Literal["blas", "onednn", "compile"]
WAYS: tuple[Way, ...] = ("blas", "onednn", "compile")


def count(workload: str) -> int:
    return 16 if workload == "berxit" else 64


def cells(program: Any) -> None:
    """Of TreeLSTM: the cells of a level."""
    program.cells = torch.compile(program.cells, dynamic=True)


def steps(program: Any) -> None:
    """Of BiRNN: the states of a step."""
    for direction in (program.ahead, program.behind):
        direction.states = stepwise(direction)


def stepwise(direction: Any) -> Callable[[Tensor, Sequence[int]], Tensor]:
    """`Direction.states` of backends/handbatched/birnn.py with a compiled step."""

    def step(share: Tensor, state: Tensor) -> Tensor:
        direction.add_share_of(share, state)
        return share.sigmoid_()

    compiled = torch.compile(step, dynamic=True)

    def states(words: Tensor, sizes: Sequence[int]) -> Tensor:
        shares: Tensor = direction.inputs(words)
        state = None
        for share in shares.split(list(sizes)):
            if state is None:
                share += direction.first
                state = share.sigmoid_()
            else:
                state = compiled(share, state[: len(share)])
        return shares

    return states


def compositions(program: Any) -> None:
    """Of MV-RNN: the vectors and matrices of a level."""
    program.compose = torch.compile(program.compose, dynamic=True)


def layers(program: Any) -> None:
    """Of BERxiT: a layer of some sequences."""
    program.layer = torch.compile(program.layer, dynamic=True)


COMPILED: Mapping[str, Callable[[Any], None]] = {"treelstm": cells, "birnn": steps, "mvrnn": compositions, "berxit": layers}


def compiled_model(workload: str, way: Way) -> Batched:
    backend = HandBatched(Target(), library="onednn" if way == "onednn" else "blas")
    model = backend.compile(spec(workload), "small", 0, count(workload))
    if way == "compile":
        COMPILED[workload](model.program)
    return model


@pytest.mark.benchmark(timer=thread_time)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("workload", COMPILED)
def test_a_mini_batch(benchmark: BenchmarkFixture, workload: str, way: Way) -> None:
    model, instances = compiled_model(workload, way), spec(workload).instances("small", 0, count(workload))
    outputs = model.run(instances)  # compiles
    usual = compiled_model(workload, "blas")
    found, right = flatten(model.fetch(outputs)), flatten(usual.fetch(usual.run(instances)))
    np.testing.assert_allclose(found.floats, right.floats, rtol=1e-3, atol=1e-4)
    assert (found.integers != right.integers).sum() <= len(right.integers) // 100  # labels whose scores are as good as equal
    benchmark(model.run, instances)
