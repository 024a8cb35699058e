"""What measuring a schedule against the default one has in common on all devices: weights, turns, equal results."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from backends.acrobat.tuning.search import Timing

ROUNDS = 9
ITEMS = 2
"""Items of a list operand in each row."""


class ScheduleWrong(RuntimeError):
    """A schedule gives other results than the default one: a mistake in its template."""


def random_weight(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """A weight (float32) whose products are about as large as what it is multiplied with."""
    weight = rng.standard_normal(shape).astype(np.float32)
    return weight / np.float32(max(shape[-1:], default=1) ** 0.5)


def check_results(kernel: str, schedule: Any, rows: int, results: np.ndarray, expected: np.ndarray) -> None:
    """Raises ScheduleWrong unless the results of `schedule` for `rows` rows are those of the default schedule, `expected`."""
    if not np.allclose(results, expected, rtol=1e-4, atol=1e-4, equal_nan=True):
        raise ScheduleWrong(f"{kernel}: {schedule} gives other results than the default one for {rows} rows")


def in_turns(schedules: Sequence[Callable[[], float]], rounds: int = ROUNDS) -> Timing:
    """Times the default schedule, which is the first, against the last one. Each is a function that runs the kernel and gives
    the seconds of one call. They take turns, in the other order in every second round."""
    seconds: list[list[float]] = [[] for _ in schedules]
    for turn in range(rounds):
        for i in range(len(schedules)) if turn % 2 else reversed(range(len(schedules))):
            seconds[i].append(schedules[i]())
    ratios = [own / default for own, default in zip(seconds[-1], seconds[0], strict=True)]
    return Timing(statistics.median(seconds[0]), statistics.median(ratios))
