"""A wrong clock is detected, and a busy machine is not mistaken for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bench import elapsed
from bench.elapsed import Told
from bench.family import Used
from bench.isolate import Ended


class FakeChild:
    """A child whose runs take `run_s`. If a request takes `s` seconds in truth, the child tells `told(s)`, the parent's clock
    shows `wall(s)`, and the processor time is `cpu * s`."""

    def __init__(self, run_s: float, told: Callable[[float], float], wall: Callable[[float], float], cpu: float = 1.0) -> None:
        self.run_s, self.told, self.wall, self.cpu = run_s, told, wall, cpu
        self.requests: list[int] = []
        self.usage = self
        self.asked: dict[str, Used] = {}

    def ask(self, do: str, runs: int, minibatches: int) -> dict[str, float]:
        self.requests.append(runs)
        true_s = self.run_s * runs
        self.asked[do] = self.asked.get(do, Used()).plus(self.cpu * true_s, self.wall(true_s))
        return {"told_s": self.told(true_s)}


def true(seconds: float) -> float:
    return seconds


def checked(*arguments: Any, **settings: Any) -> FakeChild:
    child = FakeChild(*arguments, **settings)
    elapsed.check(child, 3)  # type: ignore[arg-type]
    return child


@pytest.mark.parametrize("run_s", [1e-7, 50e-6, 4e-3, 0.1, 60.0])
def test_an_honest_clock(run_s: float) -> None:
    child = checked(run_s, true, true)
    assert sum(child.requests) * run_s < max(0.5, 1.01 * run_s), "one run of a slow cell, a moment of the others"


@pytest.mark.parametrize("run_s", [50e-6, 4e-3, 60.0])
@pytest.mark.parametrize("cpu", [0.9, 1.0, 2.0])
def test_an_honest_clock_on_a_busy_machine(run_s: float, cpu: float) -> None:
    """The cell waits two seconds around its runs, and takes three times as long for them."""
    checked(run_s, lambda s: 3 * s, lambda s: 3 * s + 2.0, cpu=cpu)


@pytest.mark.parametrize("run_s", [500e-6, 4e-3, 60.0])
@pytest.mark.parametrize("slower", [3.0, 100.0, 1e12])
def test_a_clock_that_runs_slower(run_s: float, slower: float) -> None:
    with pytest.raises(Ended, match=r"its clock told .* s where .* s passed"):
        checked(run_s, lambda s: s / slower, true)


def test_one_attempt_of_three_is_enough_for_an_honest_clock() -> None:
    answers = iter([0.01, 0.01, 4.0])
    child = checked(4.0, lambda s: next(answers), true)
    assert child.requests == [1, 1, 1]


@pytest.mark.parametrize(
    ("run_s", "slower", "between_s", "turn_s", "flags"),
    [
        (4e-3, 1.0, 0.0, 0.0, 0),
        (4e-3, 1.5, 0.0, 0.0, 0),  # that is in doubt
        (4e-3, 3.0, 0.0, 0.0, 1),
        (0.5, 3.0, 0.0, 0.0, 1),
        (4e-3, 1.0, 3e-3, 0.0, 0),  # work between the runs, such as fetching outputs
        (4e-3, 1.0, 12e-3, 0.0, 1),
        (20e-6, 1.0, 150e-6, 0.005, 0),  # a model that does almost nothing
        (20e-6, 1.0, 400e-6, 0.005, 1),
    ],
)
def test_turns_that_took_longer_than_was_told(run_s: float, slower: float, between_s: float, turn_s: float, flags: int) -> None:
    """Six turns of 50 runs, 25 of which are handed over, with so many seconds between two runs and besides them."""
    told = Told(began_s=7.0)
    for _ in range(6):
        told.add({"samples_s": [run_s / slower] * 25, "settled_s": 25 * run_s / slower}, 50)
    passed_s = 6 * (50 * (run_s + between_s) + turn_s)
    found = told.judge(7.0 + passed_s, fetch_s=100e-6)
    assert len(found) == flags, found
    assert all(f"took {passed_s:.3g} s, of which it told {300 * run_s / slower:.3g} s" in flag for flag in found)
