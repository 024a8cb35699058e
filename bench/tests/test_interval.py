"""The intervals cover the truth as often as they should, on made-up series whose true value is known."""

from __future__ import annotations

import numpy as np
import pytest

from bench import stats
from bench.config import Measure
from bench.interval import block_length, correlation, interval, widening
from bench.turns import StopRule, order

KINDS = ("independent", "heavy-tailed", "correlated", "drifting")
MINIBATCHES = 3


def correlated(random: np.random.Generator, sessions: int, rounds: int, rho: float) -> np.ndarray:
    """AR(1) series `[sessions, rounds]` of mean 0 and deviation 1."""
    steps = random.normal(size=(sessions, rounds))
    series = np.empty_like(steps)
    series[:, 0] = steps[:, 0]
    for r in range(1, rounds):
        series[:, r] = rho * series[:, r - 1] + np.sqrt(1 - rho**2) * steps[:, r]
    return series


def disturbed(kind: str, random: np.random.Generator, sessions: int, rounds: int) -> np.ndarray:
    """Relative deviations `[sessions, rounds, mini-batches]` around the true value 0. The correlated ones are mostly common to
    all mini-batches of a round, and an AR(1) series with correlation 0.8 over the rounds."""
    own = random.normal(size=(sessions, rounds, MINIBATCHES))
    match kind:
        case "independent":
            return 0.02 * own
        case "heavy-tailed":
            return 0.01 * random.standard_t(1.5, size=own.shape)
        case "correlated":
            return 0.01 * correlated(random, sessions, rounds, 0.8)[:, :, None] + 0.003 * own
        case _:
            return 0.02 * np.linspace(-1, 1, rounds)[None, :, None] + 0.003 * own


def holds(values: np.ndarray, truth: float = 0.0) -> bool:
    low, high = interval(values)
    return low <= truth <= high


@pytest.mark.parametrize("rounds", [5, 10, 30, 100])
@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_covers_the_truth(kind: str, rounds: int) -> None:
    """At least 90 % of the nominal 95 % intervals contain the true value."""
    random = np.random.default_rng(rounds)
    sessions = disturbed(kind, random, 100 if rounds == 100 else 300, rounds)
    assert np.mean([holds(1 + values, 1.0) for values in sessions]) >= 0.90


def left_out(values: np.ndarray, runs: int) -> np.ndarray:
    """The values of a slow cell that runs only `runs` of the mini-batches in each round: the others are NaN."""
    values = values.copy()
    for number in range(values.shape[1]):
        values[:, number, order(0, number, values.shape[2])[runs:]] = np.nan
    return values


@pytest.mark.parametrize("rounds", [5, 10, 30])
@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_covers_the_truth_where_mini_batches_are_left_out(kind: str, rounds: int) -> None:
    """The same for three mini-batches of different size, of which each round runs two."""
    random = np.random.default_rng(rounds)
    sessions = left_out((1 + disturbed(kind, random, 300, rounds)) * [0.5, 1.0, 1.5], 2)
    assert np.mean([holds(values, 1.0) for values in sessions]) >= 0.90


@pytest.mark.parametrize("rounds", [5, 10, 30, 100])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_systems_are_seldom_called_different(kind: str, rounds: int) -> None:
    """Two equal systems, each with disturbances of its own, differ significantly in at most 7 % of sessions. (A drift is common
    to both.) The series are logarithms of times, so that their differences are logarithms of ratios."""
    random = np.random.default_rng(rounds)
    count = 100 if rounds == 100 else 300
    a, b = (disturbed(kind, random, count, rounds) for _ in range(2))
    assert np.mean([not holds(difference) for difference in a - b]) <= 0.07


@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_covers_the_truth_when_it_decides_when_to_stop(kind: str) -> None:
    """A rule that ends a session once the interval is narrow favours intervals that are too narrow by chance."""
    random = np.random.default_rng(1)
    inside, ended = 0, set()
    sessions = 0.5 * disturbed(kind, random, 200, 30)
    for values in 1 + sessions:
        rule = StopRule(Measure(min_rounds=5, max_rounds=30, relative_ci=0.01), 1)
        for rounds in (10, 15, 23, 30):  # the rounds after which the rule looks
            steady = values[:rounds]
            numbers = np.arange(rounds)
            found = stats.Rounds(
                numbers, np.arange(MINIBATCHES), steady, steady[:, 0], 0 * numbers, steady.min(axis=0), steady.size
            )
            reason = rule.look({"cell": found}, rounds, 0.0, late=False)
            if reason is not None:
                break
        ended.add(reason)
        truth = 1 + (0.01 * np.linspace(-1, 1, 30)[:rounds].mean() if kind == "drifting" else 0.0)
        inside += holds(steady, truth)
    assert ("interval" in ended) is (kind != "drifting")
    assert inside / len(sessions) >= 0.90


def test_correlation_is_an_upper_bound() -> None:
    random = np.random.default_rng(0)
    for rho in (0.0, 0.3, 0.6, 0.8):
        found = [correlation(each[:, None]) for each in correlated(random, 100, 50, rho)]
        assert np.mean(np.array(found) >= rho - 0.02) >= 0.85


def test_few_or_correlated_rounds_widen() -> None:
    assert widening(0.0, 1, 100) == pytest.approx(1.0, abs=0.02)
    assert widening(0.0, 1, 5) > 1.3
    assert widening(0.6, 2, 30) > widening(0.2, 2, 30) > 1
    assert block_length(0.0, 100) == 1
    assert block_length(0.8, 30) == 7
    assert block_length(0.9, 5) == 1


def test_no_interval_below_five_rounds() -> None:
    assert np.isnan(interval(np.ones((4, 2)))).all()
    assert interval(np.ones((5, 2))) == (1.0, 1.0)
