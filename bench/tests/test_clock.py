"""Work done in the fetch of outputs is detected, and honest conversion and noise are not mistaken for it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from bench.clock import Fetch, sample
from bench.judge import FIXED_NS, allowance_ns, work_in_fetch
from bench.tests.fakes import burn

RUN = 9_000_000
MS = 1_000_000


HONEST = 100_000


def fetches(costs: list[int], late: Sequence[int | None] = (), run: int = RUN) -> list[Fetch]:
    return [Fetch(0, run, cost, x) for cost, x in zip(costs, late or [None] * len(costs), strict=True)]


@pytest.mark.parametrize(
    ("found", "fine"),
    [
        ([], True),
        (fetches([HONEST] * 9), True),
        (fetches([HONEST] * 8 + [9 * MS] * 2), True),  # two long ones of ten
        (fetches([4 * MS] * 9), False),
        (fetches([900_000] * 9), True),  # a tenth of the run
        (fetches([4 * MS, HONEST, HONEST] * 3), False),  # lazy in a third of the calls
        (fetches([HONEST] * 3, run=300) + fetches([280_000] * 6, run=300), False),  # little work, but all of it
        (fetches([HONEST] * 9, late=[50_000, -50_000, None] * 3), True),
        (fetches([260_000] * 9, late=[255_000, None, None] * 3, run=800_000), False),
    ],
)
def test_work_in_fetch(found: list[Fetch], fine: bool) -> None:
    assert (work_in_fetch(found, {0: FIXED_NS + 50_000}) is None) is fine


class Sleeps:
    """A compiled model whose fetch sleeps for some seconds, or works if `work`."""

    def __init__(self, seconds: float, work: bool) -> None:
        self.seconds = seconds
        self.work = work

    def run(self, minibatch: Any) -> Any:
        return []

    def fetch(self, outputs: Any) -> list[Any]:
        if self.work:
            burn(self.seconds)
        else:
            time.sleep(self.seconds)
        return []

    def counters(self) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize("work", [True, False])
def test_work_and_waiting_both_cost(work: bool) -> None:
    found: Any = Sleeps(0.01, work)
    assert sample(found, [], 0).fetched.cost_ns >= 9_900_000


def test_many_outputs_are_allowed_more() -> None:
    one, many = allowance_ns([np.zeros(16)]), allowance_ns([[np.zeros(16), (np.zeros(16),)]] * 2000)
    assert many > 100 * (one - FIXED_NS) + FIXED_NS
    assert one < 10 * FIXED_NS
