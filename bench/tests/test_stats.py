"""Statistics: what they say, and in which direction."""

from __future__ import annotations

import numpy as np
import pytest

from bench import stats


def noisy(seconds: float, n: int, seed: int, sigma: float = 0.05) -> np.ndarray:
    return seconds * np.exp(np.random.default_rng(seed).normal(0, sigma, n))


def test_one_outlier_moves_neither_median_nor_minimum() -> None:
    groups = [np.array([1.0, 1.0, 1.0, 1.0, 50.0]), np.array([2.0, 2.0, 2.0])]
    found = stats.summary(groups)
    assert (found.median, found.minimum, found.samples) == (1.5, 1.5, 8)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    truth, inside, tries = 1.0, 0, 200
    for seed in range(tries):
        found = stats.summary([noisy(truth, 30, seed)], resamples=300)
        inside += found.low <= truth <= found.high
    assert 0.88 <= inside / tries <= 0.99


def test_the_interval_narrows_with_samples() -> None:
    few, many = (stats.summary([noisy(1.0, n, 1)]).relative_half_width for n in (10, 1000))
    assert many < few / 4


def test_mini_batches_of_different_work_do_not_widen_the_interval() -> None:
    groups = [noisy(seconds, 20, i, sigma=0.001) for i, seconds in enumerate((0.01, 0.1, 1.0))]
    assert stats.summary(groups).relative_half_width < 0.01


def test_one_sample_gives_no_interval() -> None:
    found = stats.summary([np.array([1.0]), np.array([2.0])])
    assert np.isnan(found.low)
    assert found.relative_half_width == float("inf")


def test_ratio_is_above_one_when_the_second_is_faster() -> None:
    slow, fast = ({i: noisy(s * (i + 1), 40, i + start) for i in range(3)} for s, start in ((0.2, 0), (0.1, 10)))
    found = stats.ratio(slow, fast)
    back = stats.ratio(fast, slow)
    assert found is not None
    assert back is not None
    assert found.value == pytest.approx(2.0, rel=0.05)
    assert found.low < found.value < found.high
    assert back.value == pytest.approx(1 / found.value)
    assert found.significant


def test_drift_common_to_both_cancels() -> None:
    drift = np.linspace(1, 3, 50)
    a, b = {0: 2 * drift}, {0: 1 * drift}
    found = stats.ratio(a, b)
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((2, 2, 2))


def test_ratio_uses_only_what_both_ran() -> None:
    a = {0: np.array([2.0, 2.0]), 1: np.array([100.0, 100.0])}
    b = {0: np.array([1.0, 1.0, 9.0, 9.0])}
    found = stats.ratio(a, b)
    assert found is not None
    assert found.value == pytest.approx(2.0)
    assert stats.ratio({0: np.ones(2)}, {1: np.ones(2)}) is None


def test_equal_systems_are_not_told_apart() -> None:
    found = stats.ratio({0: noisy(1.0, 40, 1)}, {0: noisy(1.0, 40, 2)})
    assert found is not None
    assert not found.significant
