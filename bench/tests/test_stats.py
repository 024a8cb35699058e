"""The statistics of samples: values, and which way round ratios are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench import stats


def record(*passes: tuple[int, int, int, float]) -> dict[str, Any]:
    """A row's samples from (round, pass, mini-batch, seconds)."""
    number, pass_number, minibatch, seconds = zip(*passes, strict=True)
    return {"samples_s": seconds, "sample_minibatch": minibatch, "sample_round": number, "sample_pass": pass_number}


def rounds(values: Any, minibatches: Any = None) -> stats.Rounds:
    """Rounds with these steady seconds, `[rounds, minibatches]`; each turn has a single pass, which is resumed and steady."""
    table = np.asarray(values, dtype=float)
    which = list(range(table.shape[1])) if minibatches is None else minibatches
    samples = [(r, 0, m, table[r, k]) for r in range(len(table)) for k, m in enumerate(which)]
    return stats.rounds_of(record(*samples))


def noisy(seconds: float, n: int, seed: int, sigma: float = 0.05) -> np.ndarray:
    return seconds * np.exp(np.random.default_rng(seed).normal(0, sigma, n))


def test_rounds_without_a_common_mini_batch_are_left_out_of_a_ratio() -> None:
    """Two slow cells, the second of which has fewer mini-batches, need not run the same ones in a round."""
    nan = float("nan")
    numbers = np.arange(6)
    of_a = np.array([[1.0, nan, 1.0], [nan, 1.0, nan]] * 3)
    of_b = np.array([[2.0, nan], [2.0, nan]] * 3)
    a = stats.Rounds(numbers, np.arange(3), of_a, np.ones(6), numbers % 2, np.ones(3), 9)
    b = stats.Rounds(numbers, np.arange(2), of_b, np.ones(6), 0 * numbers, np.ones(2), 6)
    found = stats.ratio(b, a)
    assert found is not None and found.value == pytest.approx(2.0)
    assert not found.has_interval, "only three rounds have a common mini-batch"


def test_a_round_is_the_median_of_its_steady_passes() -> None:
    turn = [
        (0, p, m, seconds)
        for p, pair in enumerate([(9, 8), (1, 5), (2, 6), (4, 7)])
        for m, seconds in zip((1, 0), pair, strict=True)
    ]
    found = stats.rounds_of(record(*turn, (1, 0, 0, 3.0), (1, 0, 1, 5.0)))
    np.testing.assert_array_equal(found.steady, [[6, 2], [3, 5]])  # the second turn had a single pass
    np.testing.assert_array_equal(found.first, [9, 3])
    np.testing.assert_array_equal(found.first_minibatch, [1, 0])
    np.testing.assert_array_equal(found.minimum, [3, 1])
    assert found.samples == 8


def test_resumed_is_the_first_run_of_a_turn_whatever_mini_batch_it_is() -> None:
    samples = []
    for r in range(6):
        first, second = (0, 1) if r % 2 else (1, 0)
        steady = {0: 1.0, 1: 10.0}
        samples += [(r, 0, first, 3 * steady[first]), (r, 0, second, 1.5 * steady[second])]
        samples += [(r, 1, m, steady[m]) for m in (first, second)]
    found = stats.summary(stats.rounds_of(record(*samples)))
    assert found.median == pytest.approx(5.5)
    assert found.resumed == pytest.approx(16.5)


def test_one_outlier_moves_neither_median_nor_minimum() -> None:
    found = stats.summary(rounds([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [50.0, 2.0]]))
    assert (found.median, found.minimum, found.rounds, found.samples) == (1.5, 1.5, 5, 10)


def test_the_interval_narrows_with_rounds() -> None:
    few, many = (
        np.median([stats.summary(rounds(noisy(1.0, n, seed)[:, None])).relative_half_width for seed in range(7)])
        for n in (10, 300)
    )
    assert many < few / 4


def test_mini_batches_of_different_work_do_not_widen_the_interval() -> None:
    table = np.stack([noisy(seconds, 20, i, sigma=0.001) for i, seconds in enumerate((0.01, 0.1, 1.0))], axis=1)
    assert stats.summary(rounds(table)).relative_half_width < 0.01


def test_the_middle_half_of_the_rounds_lies_between_the_quartiles() -> None:
    samples = [(r, 0, m, scale * (r + 1.0)) for r in range(5) for m, scale in ((0, 1.0), (1, 3.0))]
    found = stats.summary(stats.rounds_of(record(*samples, (5, 0, 0, 100.0))))
    assert found.quartiles == pytest.approx((np.mean([2.25, 6.0]), np.mean([4.75, 12.0])))


def test_four_rounds_give_no_interval() -> None:
    found = stats.summary(rounds([[1.0, 2.0]] * 4))
    assert np.isnan(found.low)
    assert found.relative_half_width == float("inf")
    four = stats.ratio(rounds([[2.0]] * 4), rounds([[1.0]] * 4))
    assert four is not None
    assert four.value == pytest.approx(2.0)
    assert not four.has_interval and not four.significant


def test_ratio_is_above_one_when_the_second_is_faster() -> None:
    slow, fast = (
        rounds(np.stack([noisy(s * (i + 1), 40, i + start) for i in range(3)], axis=1)) for s, start in ((0.2, 0), (0.1, 10))
    )
    found = stats.ratio(slow, fast)
    back = stats.ratio(fast, slow)
    assert found is not None
    assert back is not None
    assert found.value == pytest.approx(2.0, rel=0.05)
    assert found.low < found.value < found.high
    assert back.value == pytest.approx(1 / found.value)
    assert found.significant


def test_drift_common_to_both_cancels() -> None:
    drift = np.linspace(1, 3, 50)[:, None]
    found = stats.ratio(rounds(2 * drift), rounds(drift))
    assert found is not None
    assert found == pytest.approx((2, 2, 2))


def test_ratio_uses_only_the_rounds_and_mini_batches_both_ran() -> None:
    a = rounds([[2.0, 100.0]] * 3)
    b = rounds([[1.0]] * 3 + [[9.0]] * 3)
    found = stats.ratio(a, b)
    assert found is not None
    assert found.value == pytest.approx(2.0)
    assert stats.ratio(rounds([[1.0]], [0]), rounds([[1.0]], [1])) is None


def test_equal_systems_are_not_told_apart() -> None:
    found = stats.ratio(rounds(noisy(1.0, 40, 1)[:, None]), rounds(noisy(1.0, 40, 2)[:, None]))
    assert found is not None
    assert not found.significant


def test_what_was_not_measured_together_has_a_ratio_without_an_interval() -> None:
    found = stats.unpaired(rounds([[3.0, 60.0]] * 8), rounds([[1.0]] * 6))
    assert found is not None
    assert found.value == pytest.approx(3.0)
    assert not found.has_interval and not found.significant


def test_the_ratio_of_first_runs_is_of_the_same_mini_batch() -> None:
    def make(scale: float, order: list[int]) -> stats.Rounds:
        return stats.rounds_of(record(*((r, 0, m, scale * (m + 1)) for r in range(6) for m in order)))

    found = stats.resumed_ratio(make(3.0, [0, 1]), make(1.0, [0, 1]))
    assert found is not None
    assert found.value == pytest.approx(3.0)
    assert stats.resumed_ratio(make(3.0, [0, 1]), make(1.0, [1, 0])) is None


def test_a_cell_that_changes_while_it_is_measured_is_told() -> None:
    quiet = noisy(1.0, 30, 3, sigma=0.001)
    assert stats.drift(rounds(quiet[:, None])) is None
    assert stats.drift(rounds((quiet * np.linspace(0.95, 1.05, 30))[:, None])) is not None
    step = quiet * np.where(np.arange(30) < 15, 1.0, 1.2)
    found = stats.drift(rounds(step[:, None]))
    assert found == pytest.approx((1.0, 1.2), rel=0.01)
