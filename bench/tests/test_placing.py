"""Which instances are given to `place`, and when it took too long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from bench import placing
from workloads.tests.conftest import NAMES, spec

WITH_TENSORS = {"berxit", "drnn", "nestedrnn"}


@dataclass
class Pair:
    x: Any
    below: Any


def test_tensors_are_found_wherever_they_are() -> None:
    nested = [Pair(np.ones(2), [{"a": np.ones(3)}, (1, "b", None)]), 7, Pair(None, Pair(np.ones(4), []))]
    assert sorted(each.size for each in placing.tensors(nested)) == [2, 3, 4]


@pytest.mark.parametrize("name", NAMES)
def test_instances_without_tensors_need_no_placing(name: str) -> None:
    """Of the project's workloads, those in `WITH_TENSORS` have instances that are given to `place`."""

    class Noting:
        placed: Any = None

        def place(self, instances: list[Any]) -> list[Any]:
            self.placed = list(instances)
            return self.placed

    compiled: Any = Noting()
    instances = spec(name).instances("tiny", 0, 3)
    placed, cost = placing.place(compiled, instances)
    assert (compiled.placed is not None) == (cost["tensors"] > 0) == (name in WITH_TENSORS)
    assert all(a is b for a, b in zip(placed, instances, strict=True))
    assert placed is not instances


@pytest.mark.parametrize(
    ("busy_s", "tensors", "numbers", "copy_s", "fine"),
    [
        (0.0, 0, 0, 0.1, True),
        (0.09, 2, 100, 1e-5, True),  # the first call of a library
        (0.5, 2, 100, 1e-5, False),
        (0.5, 10_000, 100, 1e-5, True),
        (8.0, 320, 31_457_280, 0.17, True),  # DyNet on the mini-batches of BERxiT
        (20.0, 320, 31_457_280, 0.17, False),
    ],
)
def test_what_placing_may_cost(busy_s: float, tensors: int, numbers: int, copy_s: float, fine: bool) -> None:
    cost = {"place_busy_s": busy_s, "tensors": tensors, "numbers": numbers, "copy_s": copy_s}
    assert (placing.judge(cost) == []) is fine
