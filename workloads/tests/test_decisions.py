"""Keys and choices: the numbers every system must reproduce."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from workloads.decisions import choose, decide, mix, split, stop
from workloads.drnn.model import DRNN, Rose
from workloads.spec import loaded
from workloads.stackrnn.model import Sentence
from workloads.structures import map_tensors
from workloads.tests.conftest import spec

KEYS = st.integers(0, 2**32 - 1)


@given(KEYS)
def test_mix_stays_in_32_bits_and_its_products_in_63(x: int) -> None:
    assert 0 <= mix(x) < 2**32
    assert 0xFFFFFFFF * 0x45D9F3B < 2**63


def test_values_are_pinned() -> None:
    """Other systems compute the same numbers; a change here changes every simulated decision."""
    assert [mix(x) for x in (0, 1, 2, 2**32 - 1)] == [0, 824515495, 1722258072, 539527247]
    assert [split(1, b) for b in range(3)] == [3050126497, 454621014, 360837482]
    assert [choose(k, 20, 40) for k in range(8)] == [20, 33, 23, 32, 27, 40, 27, 20]


@given(KEYS, st.integers(-5, 5), st.integers(0, 30))
def test_choices_stay_in_range(key: int, low: int, width: int) -> None:
    assert low <= choose(key, low, low + width) <= low + width
    assert choose(key, low, low - 1) == low


def test_choices_cover_their_range_evenly() -> None:
    counts = np.bincount([choose(split(99, i), 0, 3) for i in range(40_000)])
    assert len(counts) == 4
    assert abs(counts - 10_000).max() < 500


def test_keys_of_a_call_differ() -> None:
    keys = [split(split(7, a), b) for a in range(200) for b in range(200)]
    assert len(set(keys)) > 0.9999 * len(keys)


@pytest.mark.parametrize(("value", "choice"), [(0.0, 2), (0.24, 2), (0.26, 3), (0.74, 4), (0.76, 5), (1.0, 5)])
def test_real_decisions_are_the_values_own(value: float, choice: int) -> None:
    assert decide(torch.tensor([value]), 2, 5, 1, True) == choice
    assert decide(torch.tensor(value), 3, 3, 1, True) == 3


def test_simulated_decisions_ignore_the_value() -> None:
    taken = {decide(torch.tensor([value]), 0, 9, 5, False) for value in (0.0, 0.5, 1.0)}
    assert taken == {choose(5, 0, 9)}


def trace(
    monkeypatch: pytest.MonkeyPatch, name: str, instance: Any, dtype: torch.dtype, decisions: str = "simulated"
) -> list[tuple[int, ...]]:
    """The decisions (key, low, high, choice) taken on one instance, sorted."""
    taken: list[tuple[int, ...]] = []

    def watched(score: torch.Tensor, low: int, high: int, key: int, real: bool) -> int:
        assert score.numel() == 1
        assert 0 <= score.item() <= 1
        choice = decide(score, low, high, key, real)
        if real:
            assert choice == low + min(int(score.item() * (high - low + 1)), high - low)
        taken.append((key, low, high, choice))
        return choice

    monkeypatch.setattr("workloads.decisions.decide", watched)  # `stop` calls it
    monkeypatch.setattr(f"workloads.{name}.model.decide", watched, raising=False)
    model = loaded(spec(name, decisions=decisions), "tiny", 0, dtype)
    with torch.inference_mode():
        model(instance)
    return sorted(taken)


def test_decisions_depend_on_the_key_alone(deciding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decisions do not depend on other instances, the precision, or what ran before; and all keys are different."""
    instances = spec(deciding).instances("tiny", 0, 8)
    double = [map_tensors(torch.Tensor.double, instance) for instance in instances]
    first = [trace(monkeypatch, deciding, i, torch.float32) for i in instances]
    again = [trace(monkeypatch, deciding, i, torch.float64) for i in reversed(double)][::-1]
    assert first == again
    assert all(len({key for key, *_ in taken}) == len(taken) for taken in first)
    assert len({choice for taken in first for *_, choice in taken}) > 1


def test_siblings_may_run_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree grown from its last child to its first is the same tree."""

    def size(tree: Rose) -> tuple[Any, ...]:
        return tuple(size(child) for child in tree.children)

    def grow(self: DRNN, x: torch.Tensor, h: torch.Tensor, depth: int, key: int) -> Rose:
        nodes = self.siblings(x, h, depth, key)
        return Rose(x, h, [self.subtree(node, depth + 1) for node in reversed(nodes)][::-1])

    workload = spec("drnn")
    model = loaded(workload, "tiny", 0)
    instances = workload.instances("tiny", 0, 10)
    straight = [size(model(i)) for i in instances]
    monkeypatch.setattr(DRNN, "grow", grow)
    assert [size(model(i)) for i in instances] == straight
    assert len(set(straight)) > 5


def test_real_decisions_follow_the_scores(deciding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each choice is the one that its score names (checked in `trace`), and not all are those that the keys would have made."""
    instances = spec(deciding).instances("tiny", 0, 10)
    real = [trace(monkeypatch, deciding, i, torch.float32, "real") for i in instances]
    assert all(real)
    assert real != [trace(monkeypatch, deciding, i, torch.float32) for i in instances]


def test_stack_of_every_length() -> None:
    model = loaded(spec("stackrnn"), "tiny", 0)
    with torch.inference_mode():
        for n in range(70):
            assert model(Sentence(list(range(n)), n)).shape == (3,)


def test_real_stops_need_certainty() -> None:
    for remaining in range(5):
        for certainty in (0.0, 0.3, 0.55, 0.7, 0.77, 0.9, 1.0):
            score = torch.tensor([certainty])
            assert stop(score, remaining, 7, real=True) == (certainty >= remaining / (remaining + 1))


def test_simulated_stops_are_choices() -> None:
    for key, remaining in itertools.product(range(50), range(5)):
        for certainty in (0.0, 1.0):
            assert stop(torch.tensor(certainty), remaining, key, real=False) == (choose(key, 0, remaining) == 0)
