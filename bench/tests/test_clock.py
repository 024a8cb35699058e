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


def apart(costs: Sequence[int], times: int, run: int = RUN) -> list[Fetch]:
    """So many fetches of each of several mini-batches, which cost as much as `costs` says; late work is missing in the run."""
    return [Fetch(m, max(run - cost, 1), cost, None) for m, cost in enumerate(costs) for _ in range(times)]


def turns(first: int, others: int, times: int = 6) -> list[Fetch]:
    """The fetches of so many turns of ten runs: what the one after the pause costs, and each of the others."""
    return [Fetch(0, RUN, cost, None, cost == first) for _ in range(times) for cost in (first, *[others] * 9)]


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
        (apart([HONEST] * 5, times=30), True),
        (apart([4 * MS, *[HONEST] * 4], times=30), False),  # lazy for one mini-batch of five, always
        (apart([1 * MS, *[HONEST] * 4], times=30), True),  # a dear one, but not beyond a fifth of its run
        (apart([20 * RUN, *[HONEST] * 4], times=3, run=20 * RUN), False),  # too few to judge them by themselves, but not in sum
        (apart([280_000, *[HONEST] * 4], times=3, run=300_000), True),  # as few, and so short that noise may be as large
        (turns(4 * MS, HONEST), False),  # lazy after each pause
        (turns(4 * MS, HONEST, times=3), True),  # three may be noise
        (turns(2 * MS, HONEST), True),  # as with cold caches
        (fetches([HONEST] * 24 + [9 * MS] * 5), False),  # in fewer than a quarter, but together too much
        (fetches([HONEST] * 27 + [9 * MS] * 3), True),  # three long ones of thirty
        (fetches([HONEST] * 16 + [280_000] * 4, run=300), True),
    ],
)
def test_work_in_fetch(found: list[Fetch], fine: bool) -> None:
    assert (work_in_fetch(found, dict.fromkeys(range(5), FIXED_NS + 50_000)) is None) is fine


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
