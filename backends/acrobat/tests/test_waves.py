"""Mini-batches that are larger than the caches run as waves of instances, which change no results, only counters."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile
from backends.acrobat.errors import InstanceError
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.options import Codegen, Executor, Options
from backends.acrobat.tests.models import LongTails
from backends.acrobat.tests.support import MOST, assert_same, draw, eager, edges, tiny

WIDTH = 512
BYTES = 4 * WIDTH
SECOND_LEVEL = 1 << 20
"""The size of the second-level cache in bytes that these tests assume, whatever this machine has."""
FULL = SECOND_LEVEL // 16
"""A wave is full after so many bytes of results times the option `wave`."""


class Chain(nn.Module):
    """Returns a state of two kilobytes for each word."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, WIDTH)
        self.cell = nn.Linear(WIDTH, WIDTH)

    def forward(self, words: list[int]) -> list[Tensor]:
        states = []
        x = self.embedding.weight[0]
        for word in words:
            x = torch.tanh(self.cell(x) + self.embedding.weight[word])
            states.append(x)
        return states


@pytest.fixture(scope="module")
def chains(cache: Path) -> Any:
    """`chains(second_level, **options)` gives an executable for a processor with such a cache, and its model."""
    torch.manual_seed(0)
    model = Chain()

    def build(second_level: int = SECOND_LEVEL, **options: Any) -> tuple[Any, nn.Module]:
        target = replace(CpuTarget.detect(), second_level=second_level)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(CpuTarget, "detect", lambda isa: target)
            return compile(model, cache_folder=cache, checked=True, options=Options(**options)), model

    return build


def widths(executable: Any, instances: list[Any]) -> list[int]:
    """The number of instances in each wave, for chains of equal length: the rows of the launches at depth 0."""
    return [rows for _, depth, _, rows in executable.schedule(instances) if depth == 0]


def equal(count: int, length: int = 8) -> list[list[int]]:
    return [[(i + k) % 10 for k in range(length)] for i in range(count)]


@pytest.mark.parametrize(
    ("wave", "count", "want"),
    [
        (0, 20, [20]),
        (64, 20, [20]),
        (1, 20, [4, 4, 4, 4, 4]),  # four instances fill 64 KiB
        (2, 20, [8, 8, 4]),
        (3, 20, [12, 8]),
        (5, 20, [20]),
        (10, 20, [20]),  # after two groups of ten, none are left
        (1, 1, [1]),
        (2, 19, [8, 8, 3]),
        (2, 17, [8, 9]),  # no wave of fewer than two
    ],
)
def test_a_wave_is_full_or_the_last(chains: Any, wave: int, count: int, want: list[int]) -> None:
    assert FULL // (8 * BYTES) == 4
    executable, _ = chains(wave=wave)
    assert widths(executable, equal(count)) == want
    assert executable.counters()["executions"] == len(want)


def test_a_larger_cache_holds_a_larger_wave(chains: Any) -> None:
    executable, model = chains(second_level=2 * SECOND_LEVEL, wave=1)
    assert widths(executable, equal(20)) == [8, 8, 4]
    assert_same(executable(equal(20)), eager(deepcopy(model).double(), equal(20)))


@pytest.mark.parametrize("wave", [0, 1, 3])
@pytest.mark.parametrize("executor", ["inline", "dataflow", "agenda", "learned"])
def test_outputs_keep_their_order(chains: Any, wave: int, codegen: Codegen, executor: Executor) -> None:
    executable, model = chains(wave=wave, codegen=codegen, executor=executor)
    instances = [[], *equal(5, 3), list(range(10)) * 9, [], *equal(30, 1), *equal(9, 20), []]
    want = eager(deepcopy(model).double(), instances)
    for _ in range(2):
        assert_same(executable(instances), want)
    nodes = sum(len(words) for words in instances)
    assert executable.counters()["nodes"] == nodes
    assert (executable.counters()["executions"] > 1) == (wave > 0)
    assert_same(executable(tuple(instances)), want)
    assert executable([]) == [] and executable.counters()["executions"] == 0


def test_waves_change_no_bit(chains: Any) -> None:
    instances = equal(40, 9)
    whole, parts = chains(wave=0)[0](instances), chains(wave=1)[0](instances)
    assert all(torch.equal(torch.stack(a), torch.stack(b)) for a, b in zip(whole, parts, strict=True))


def test_memory_serves_one_wave_after_the_other(chains: Any) -> None:
    executable, _ = chains(wave=1)
    executable(equal(4))
    few = executable.counters()["tensor_bytes"]
    executable(equal(400))
    assert executable.counters()["tensor_bytes"] == few == FULL
    whole, _ = chains(wave=0)
    whole(equal(400))
    assert whole.counters()["tensor_bytes"] == 100 * FULL


def test_bytes_are_the_most_of_the_last_minibatch(chains: Any) -> None:
    executable, _ = chains(wave=0)
    taken = []
    for count in (40, 400, 40, 0):
        executable(equal(count))
        taken.append([executable.counters()[name] for name in ("host_bytes", "tensor_bytes")])
    small, large, again, none = taken
    assert small == again and none == [0, 0]
    assert all(a < b for a, b in zip(small, large, strict=True))


class TestWaiting:
    """Waves of instances that wait are four times as large."""

    @pytest.fixture(scope="class")
    def tails(self, cache: Path) -> Any:
        torch.manual_seed(0)
        model = LongTails()
        return compile(model, cache_folder=cache, checked=True, options=Options(wave=2)), deepcopy(model).double()

    @pytest.mark.parametrize(("count", "want"), [(15, [15]), (16, [8, 8]), (29, [8, 8, 13]), (40, [8] * 5)])
    def test_widths(self, tails: Any, count: int, want: list[int]) -> None:
        executable, model = tails
        instances = [[1 + i, 0] for i in range(count)]
        scores = [rows for _, depth, _, rows in executable.schedule(instances) if depth == 0]
        assert scores == want
        assert executable.counters()["waits"] == count
        assert_same(executable(instances), eager(model, instances))

    def test_lengths_of_their_own(self, tails: Any) -> None:
        executable, model = tails
        instances = [[(i * k) % 3 - 1 for k in range(i % 7)] for i in range(50)]
        assert_same(executable(instances), eager(model, instances))


@pytest.mark.parametrize("name", MOST)
def test_workloads_in_waves(built: Any, name: str) -> None:
    """Instances of many sizes. With `wave=1` they are read and recorded one by one, or in groups of four if they wait."""
    executable = built(name, options=Options(wave=1))
    instances = [*draw(name, 9), *edges(name), *draw(name, 4, seed=1)]
    assert_same(executable(instances), eager(tiny(name, torch.float64), instances))


class TestErrors:
    def test_the_instance_is_named_by_its_place_in_the_mini_batch(self, chains: Any) -> None:
        executable, model = chains(wave=1)
        instances: list[Any] = equal(20)
        instances[17] = [0, "one"]
        with pytest.raises(InstanceError, match=r"instance 17, at \[1\]"):
            executable(instances)
        instances[17] = [0, 99]
        with pytest.raises(InstanceError, match="instance 17: index 99 is out of range"):
            executable(instances)
        assert_same(executable(equal(20)), eager(deepcopy(model).double(), equal(20)))

    def test_of_an_instance_that_waits(self, built: Any) -> None:
        executable = built("stackrnn", options=Options(wave=1))
        instances = draw("stackrnn", 12)
        instances[9].words[0] = -1000
        with pytest.raises(InstanceError, match="instance 9: index -1000 is out of range"):
            executable(instances)
        good = draw("stackrnn", 12)
        assert_same(executable(good), eager(tiny("stackrnn", torch.float64), good))

    @pytest.mark.parametrize("wave", [-1, True, 1.5, None, 1 << 40])
    def test_no_number_of_instances(self, wave: Any) -> None:
        with pytest.raises(ValueError, match=r"wave=.*: the least number of instances of a wave"):
            Options(wave=wave)
