"""What the times of mini-batches that a system has never seen show about its samples."""

from __future__ import annotations

import pytest

from bench import fresh
from bench.fresh import Pass, Passes

MS = 1_000_000
ALLOWED_S = 1e-4


def looked(first: list[tuple[float, float]], again: list[tuple[float, float]], asking_s: float = 0.002) -> Passes:
    """Passes over timed mini-batches, whose runs took 1 ms, and over new ones: for each new one, `first` has wall and processor
    time of its first run in ms, `again` those of two more. The parent's clock shows the smaller ones, and `asking_s` a pass."""

    def one(runs: list[tuple[float, float]]) -> Pass:
        told = [[int(wall * MS), int(cpu * MS)] for wall, cpu in runs]
        return Pass(told, sum(min(run) for run in told) / 1e9 + asking_s)

    return Passes([one([(1.0, 1.0)] * 3)] * 2, [one(first), one(again), one(again)])


@pytest.mark.parametrize(
    ("first", "again", "batch_size", "beyond_doubt"),
    [
        ([(1.0, 1.0)] * 2, [(1.0, 1.0)] * 2, 8, False),
        ([(30.0, 30.0)] * 2, [(30.0, 30.0)] * 2, 8, True),
        ([(16.0, 16.0)] * 2, [(16.0, 16.0)] * 2, 7, False),  # small mini-batches differ much
        ([(30.0, 30.0)] * 2, [(10.0, 10.0)] * 2, 8, False),
        ([(30.0, 30.0)] * 2, [(1.0, 1.0)] * 2, 8, False),  # compiled for a new shape
        ([(90.0, 2.0)] * 2, [(90.0, 2.0)] * 2, 8, False),  # the machine is busy
        ([(30.0, 30.0), (1.0, 1.0)], [(30.0, 30.0), (1.0, 1.0)], 8, False),  # one mini-batch is large
    ],
)
def test_beyond_doubt(
    first: list[tuple[float, float]], again: list[tuple[float, float]], batch_size: int, beyond_doubt: bool
) -> None:
    assert (fresh.overwhelming(looked(first, again), batch_size, 0.001, ALLOWED_S) is not None) is beyond_doubt


def test_flags() -> None:
    def flags(first: float, again: float) -> list[str]:
        return fresh.judge(looked([(first, first)] * 2, [(again, again)] * 2, 0.0), 0.001, ALLOWED_S, 0.0)[1]

    assert flags(1.0, 1.0) == []
    assert "the first time" in flags(9.0, 1.0)[0]
    assert "9.0 times" in flags(9.0, 9.0)[0]


@pytest.mark.parametrize(("true_ms", "hidden"), [(1.0, 0), (8.0, 3), (80.0, 75)])
def test_a_process_that_tells_too_little_of_all_runs(true_ms: float, hidden: float) -> None:
    """The process tells 1 ms for every run, timed before or new; only the parent's clock shows the true time of new ones."""
    told = [[MS, MS]] * 2
    known, unseen = Pass(told, 0.01), Pass(told, 2 * true_ms / 1e3)
    found = Passes([known] * 2, [unseen] * 3)
    assert int(fresh.hidden(found, 0.001, 0.0)) == hidden
    assert (fresh.overwhelming(found, 4, 0.001, 0.0) is not None) is (hidden > fresh.OVERWHELMING)


@pytest.mark.parametrize(("draw_s", "show_s", "flags"), [(0.02, 0.01, 0), (0.2, 0.01, 1), (0.02, 0.2, 1)])
def test_work_that_is_done_while_new_ones_are_drawn_or_shown(draw_s: float, show_s: float, flags: int) -> None:
    """Each of the requests may take some 10 ms for 8 instances, and drawing as long as it did before."""
    found = looked([(1.0, 1.0)] * 2, [(1.0, 1.0)] * 2, 0.0)
    found.draw_s, found.show_s, found.shown = draw_s, show_s, 8
    assert len(fresh.judge(found, 0.001, ALLOWED_S, 0.01)[1]) == flags


@pytest.mark.parametrize(("drawn", "tensors", "seconds"), [(1, 0, 0.3), (5, 0, 1.5), (5, 10, 1.501)])
def test_more_mini_batches_may_take_longer_to_draw(drawn: int, tensors: int, seconds: float) -> None:
    found = looked([(1.0, 1.0)] * drawn, [(1.0, 1.0)] * drawn)
    found.placed = {"copy_s": 0.0, "numbers": 0, "tensors": tensors}
    assert fresh.drawing_s(found, one_s=0.1) == pytest.approx(seconds)


@pytest.mark.parametrize("size", [1, 4, 64])
def test_which_instances_are_compared_nobody_could_know(size: int) -> None:
    found = [fresh.instances_to_compare(size) for _ in range(8)]
    assert all(each == sorted(set(each)) and each[-1] < fresh.FEW * size for each in found)
    assert all(each[0] < size for each in found), "every system runs the first mini-batch"
    assert len(found[0]) == min(fresh.COMPARED, fresh.FEW * size)
    assert size < 64 or len({tuple(each) for each in found}) > 1


def test_more_of_short_mini_batches_and_hardly_any_of_slow_ones() -> None:
    assert fresh.plan(2.0, 64, 5) == fresh.Plan(1, 1, 1, warm=False)
    assert fresh.plan(0.09, 64, 5) == fresh.Plan(3, 3, 1)
    assert fresh.plan(0.04, 64, 2) == fresh.Plan(2, 3, 3)
    assert fresh.plan(0.001, 4, 5) == fresh.Plan(5, 64, 3)
    assert fresh.plan(0.001, 1024, 5) == fresh.Plan(3, 3, 3)
    assert fresh.plan(0.04, 64, 5, thorough=False) == fresh.Plan(3, 3, 1)
    assert fresh.plan(0.09, 64, 5, thorough=False) == fresh.Plan(1, 1, 1, warm=False)
