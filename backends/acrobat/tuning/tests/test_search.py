"""The search, with invented costs: how trials are distributed and which schedules are taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from backends.acrobat.kernels.cpu.schedule import KernelSchedule
from backends.acrobat.tuning.search import (
    LARGEST_EXTENT,
    MAX_EXTENTS,
    MAX_VARIANTS,
    MIN_GAIN,
    Task,
    Timing,
    allocate,
    choose,
    extents,
    search,
)

USUAL = KernelSchedule("gemm", 8)
A, B, C, D = (KernelSchedule("gemm", rows) for rows in (1, 2, 3, 4))


class Fake:
    """Costs without measuring. `seconds`: time of a call with the default schedule, by task. `ratios`: by task and schedule,
    the schedule's time divided by the default's, 1 if missing. `tried`: the measurements that were asked for."""

    def __init__(
        self, tasks: Sequence[Task], seconds: Sequence[float], ratios: Mapping[tuple[int, KernelSchedule], float]
    ) -> None:
        self.tasks, self.seconds, self.ratios = tasks, seconds, ratios
        self.tried: list[tuple[int, KernelSchedule]] = []

    def baseline(self, task: int) -> Mapping[int, float]:
        return dict.fromkeys(self.tasks[task].extents, self.seconds[task])

    def measure(self, task: int, schedule: KernelSchedule) -> Mapping[int, Timing]:
        self.tried.append((task, schedule))
        ratio = self.ratios.get((task, schedule), 1.0)
        return {rows: Timing(self.seconds[task], ratio) for rows in self.tasks[task].extents}


def three() -> tuple[list[Task], list[float]]:
    """Three tasks and the seconds of one call of each. The second takes nine tenths of the time: few calls, but long ones."""
    many = [KernelSchedule("gemm", 8, 1, 1, block) for block in range(40)]
    return [Task({8: calls}, USUAL, many) for calls in (100.0, 10.0, 50.0)], [1e-6, 180e-6, 2e-6]


def test_a_profile_puts_trials_where_time_goes() -> None:
    tasks, seconds = three()
    costs = Fake(tasks, seconds, {})
    search(tasks, 20, costs, guided=True)
    assert [sum(t == i for t, _ in costs.tried) for i in range(3)] == [1, 18, 1]
    assert [s for t, s in costs.tried if t == 1] == tasks[1].candidates[:18], "the most promising first"


def test_without_a_profile_trials_are_even() -> None:
    tasks, seconds = three()
    costs = Fake(tasks, seconds, {})
    search(tasks, 20, costs, guided=False)
    assert [sum(t == i for t, _ in costs.tried) for i in range(3)] == [7, 7, 6]


def test_what_a_small_budget_tries_a_large_one_tries_too() -> None:
    shares, limits = [5.0, 3.0, 1.0, 0.0], [20, 4, 20, 20]
    for trials in range(60):
        given, more = allocate(shares, limits, trials), allocate(shares, limits, trials + 1)
        assert all(a <= b for a, b in zip(given, more, strict=True))
        assert sum(given) == min(trials, 44)
        assert all(g <= limit for g, limit in zip(given, limits, strict=True))
        assert given[3] == 0, "what takes no time gets no trial"


def test_the_winner_is_taken_and_the_rest_stays() -> None:
    tasks = [Task({8: 1.0}, USUAL, [A, B]), Task({8: 1.0}, USUAL, [A])]
    costs = Fake(tasks, [1.0, 1.0], {(0, A): 0.9, (0, B): 0.8, (1, A): 1.2})
    assert search(tasks, 10, costs, guided=True) == [((0, B),), ((0, USUAL),)]
    assert search(tasks, 1, costs, guided=True) == [((0, A),), ((0, USUAL),)]
    assert search(tasks, 0, costs, guided=True) == [((0, USUAL),), ((0, USUAL),)]


@pytest.mark.parametrize(("ratio", "taken"), [(1 - MIN_GAIN - 0.001, True), (1 - MIN_GAIN + 0.001, False)])
def test_a_gain_within_the_margin_is_none(ratio: float, taken: bool) -> None:
    task = Task({8: 1.0}, USUAL, [A])
    assert choose(task, {A: {8: Timing(1.0, ratio)}}) == ((0, A if taken else USUAL),)


def timings(ratios: Mapping[KernelSchedule, Sequence[float]], rows: Sequence[int]) -> dict[KernelSchedule, dict[int, Timing]]:
    return {s: {r: Timing(1.0, v) for r, v in zip(rows, values, strict=True)} for s, values in ratios.items()}


def test_ranges_of_rows_have_their_own_variants() -> None:
    rows = [1, 4, 9, 20]
    found = timings({A: [0.5, 1.5, 1.5, 1.5], B: [1.5, 1.5, 0.6, 0.6]}, rows)
    task = Task(dict.fromkeys(rows, 1.0), USUAL, [A, B])
    assert choose(task, found) == ((0, A), (3, USUAL), (7, B))


def test_there_are_few_variants_those_that_save_most() -> None:
    rows = [1, 2, 4, 8]
    found = timings({s: [0.5 if r == own else 1.2 for r in rows] for s, own in zip((A, B, C, D), rows, strict=True)}, rows)
    weights = {1: 0.5, 2: 10.0, 4: 5.0, 8: 20.0}
    chosen = choose(Task(weights, USUAL, [A, B, C, D]), found)
    assert MAX_VARIANTS == 3
    assert chosen == ((0, B), (3, C), (6, D)), "what the first would save does not pay for a fourth"


def test_a_variant_that_saves_next_to_nothing_is_left_out() -> None:
    found = timings({A: [0.5, 1.5]}, [1, 8])
    assert choose(Task({1: 1.0, 8: 1000.0}, USUAL, [A]), found) == ((0, USUAL),)


def test_extents_keep_the_time_and_what_takes_most_of_it() -> None:
    launches = dict.fromkeys(range(1, 41), 1) | {300: 2}
    found = extents(launches)
    assert len(found) == MAX_EXTENTS
    assert max(found) == LARGEST_EXTENT
    total = sum(rows * often for rows, often in launches.items())
    assert sum(rows * often for rows, often in found.items()) == pytest.approx(total)
    assert extents({3: 5, 8: 2}) == {3: 5.0, 8: 2.0}
