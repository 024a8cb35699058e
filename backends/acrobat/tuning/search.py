"""The search: which schedules of which kernels are tried, and which are taken. How costs are found is left to `Costs`.

Trials are given one by one to the kernel with the largest quotient of its share of the time and the number of its trials plus
one (D'Hondt's rule). So a larger budget tries all that a smaller one tries, and more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from backends.acrobat.kernels.interface import Schedules

Schedule: TypeAlias = Any
"""A frozen dataclass of the device's; the search only compares and hashes schedules."""

MIN_GAIN = 0.03
"""A schedule is taken if it saves at least this part of the default's time in its range of rows."""
MIN_GAIN_OF_VARIANT = 0.01
"""A further variant is taken if it saves more than this part of the kernel's time."""
MAX_VARIANTS = 3
MAX_EXTENTS = 8
"""The most numbers of rows at which one kernel is measured."""
LARGEST_EXTENT = 128
"""From this many rows on, time on a processor is proportional to rows: the runtime gives kernels blocks of about this size."""


@dataclass(frozen=True, slots=True)
class Timing:
    """`default`: seconds of one call with the default schedule. `ratio`: time of another schedule divided by the default's."""

    default: float
    ratio: float


@dataclass(frozen=True)
class Task:
    """A kernel to tune. `extents`: number of rows -> number of calls. `candidates`: the schedules to try, in that order."""

    extents: Mapping[int, float]
    default: Any
    candidates: Sequence[Any]


class Costs(Protocol):
    """What schedules cost. Tasks are named by their position in the list that `search` is given."""

    def baseline(self, task: int) -> Mapping[int, float]:
        """Seconds of one call with the default schedule, at each of the task's numbers of rows."""
        ...

    def measure(self, task: int, schedule: Any) -> Mapping[int, Timing]:
        """The schedule against the default one, at each of the task's numbers of rows."""
        ...


def extents(launches: Mapping[int, float], largest: int = LARGEST_EXTENT) -> dict[int, float]:
    """The numbers of rows to measure at, at most MAX_EXTENTS, those that take most time, with their numbers of calls.
    `launches`: rows -> number of calls, at all numbers of rows. Other calls are added to the nearest of the kept numbers,
    weighted by their rows. From `largest` rows on, time is taken to grow in proportion to rows."""
    calls: dict[int, float] = {}
    for rows, often in launches.items():
        at = min(rows, largest)
        calls[at] = calls.get(at, 0.0) + often * rows / at
    extents = sorted(calls, key=lambda rows: (-calls[rows] * rows, rows))[:MAX_EXTENTS]
    shares = dict.fromkeys(sorted(extents), 0.0)
    for rows, often in calls.items():
        nearest = min(shares, key=lambda k: (abs(k - rows), k))
        shares[nearest] += often * rows / nearest
    return shares


def allocate(shares: Sequence[float], limits: Sequence[int], trials: int) -> list[int]:
    """How many of the trials each kernel gets, by D'Hondt's rule: at most its limit, and none if its share is 0."""
    trials_given = [0] * len(shares)
    for _ in range(trials):
        open_ones = [i for i, share in enumerate(shares) if share > 0 and trials_given[i] < limits[i]]
        if not open_ones:
            break
        trials_given[max(open_ones, key=lambda i: (shares[i] / (trials_given[i] + 1), -i))] += 1
    return trials_given


def search(tasks: Sequence[Task], trials: int, costs: Costs, guided: bool) -> list[Schedules]:
    """The chosen schedules for each task. `guided`: trials are distributed by the kernels' shares of the time, else evenly."""
    shares = [1.0] * len(tasks)
    if guided:
        baselines = [costs.baseline(i) for i in range(len(tasks))]
        shares = [sum(often * b[rows] for rows, often in t.extents.items()) for t, b in zip(tasks, baselines, strict=True)]
    results = []
    for i, (task, count) in enumerate(zip(tasks, allocate(shares, [len(t.candidates) for t in tasks], trials), strict=True)):
        timings = {schedule: costs.measure(i, schedule) for schedule in task.candidates[:count]}
        results.append(choose(task, timings))
    return results


def choose(task: Task, timings: Mapping[Schedule, Mapping[int, Timing]]) -> Schedules:
    """The variants, at most MAX_VARIANTS, each for a range of rows, with the least time in sum. `timings`: what was tried."""
    rows = sorted(task.extents)
    if not timings:
        return ((0, task.default),)

    def cost(schedule: Schedule, at: int) -> float:
        """Seconds of all calls with `at` rows, by the least time of the default that was measured: it varies a little."""
        default = min(t[at].default for t in timings.values()) * task.extents[at]
        return default if schedule == task.default else default * timings[schedule][at].ratio

    costs = {s: [cost(s, at) for at in rows] for s in (task.default, *timings)}

    def best(first: int, last: int) -> tuple[float, Schedule]:
        """(seconds, schedule) for extents number `first` up to `last`: the fastest if it saves MIN_GAIN, else the default."""
        default = sum(costs[task.default][first:last])
        least, schedule = min(((sum(c[first:last]), s) for s, c in costs.items()), key=lambda pair: pair[0])
        return (least, schedule) if least <= (1 - MIN_GAIN) * default else (default, task.default)

    def split(first: int, variants: int) -> tuple[float, list[tuple[int, Schedule]]]:
        """(seconds, variants) of the best variants, at most this many, for the extents from number `first` on."""
        undivided, schedule = best(first, len(rows))
        cheapest = (undivided, [(first, schedule)])
        if variants > 1:
            for middle in range(first + 1, len(rows)):
                own, schedule = best(first, middle)
                others, tail = split(middle, variants - 1)
                if own + others < cheapest[0] - MIN_GAIN_OF_VARIANT * total:
                    cheapest = (own + others, [(first, schedule), *tail])
        return cheapest

    total = sum(costs[task.default])
    _, chosen = split(0, MAX_VARIANTS)
    out: list[tuple[int, Schedule]] = []
    for first, schedule in chosen:
        if not out or out[-1][1] != schedule:
            begin = (rows[first - 1] + rows[first] + 1) // 2 if first else 0
            out.append((begin, schedule))
    return tuple(out)
