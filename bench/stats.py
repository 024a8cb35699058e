"""Statistics of the raw samples of a cell, and of two cells measured together. No sample is ever dropped.

In a round of a group each cell has one turn: mini-batches once after a pause (pass 0) and then back to back (passes 1, 2, ...).
A round gives one number for each mini-batch, the median of its steady passes. Mini-batches differ in work, so they are never
mixed: a latency is the median over the rounds for each mini-batch, averaged over the mini-batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bench.interval import FEWEST, interval, typical

DRIFT = 0.02  # if the halves of a session differ by less, there is no flag


class Rounds(NamedTuple):
    """The samples of a cell by round, in seconds; NaN for a mini-batch that a round left out."""

    numbers: np.ndarray  # [rounds] the numbers of the rounds that it took part in, ascending
    minibatches: np.ndarray  # [minibatches] their numbers, ascending
    steady: np.ndarray  # [rounds, minibatches] median of the steady passes
    first: np.ndarray  # [rounds] the first run of the turn, the one right after the pause
    first_minibatch: np.ndarray  # [rounds] the mini-batch of that run
    minimum: np.ndarray  # [minibatches] the fastest steady run
    samples: int  # how many samples are steady


class Summary(NamedTuple):
    """Seconds for each mini-batch: the steady latency (`median`) with its 95 % interval from `low` to `high`, which are NaN for
    fewer than five rounds; the mean of the fastest runs (`minimum`); the latency after a pause (`resumed`); the `quartiles` of
    the rounds, between which the middle half of them lies."""

    median: float
    low: float
    high: float
    minimum: float
    resumed: float
    rounds: int
    samples: int
    quartiles: tuple[float, float]

    @property
    def relative_half_width(self) -> float:
        width = (self.high - self.low) / 2 / self.median
        return width if np.isfinite(width) else float("inf")


class Ratio(NamedTuple):
    """A ratio of latencies with its 95 % interval from `low` to `high`, which are NaN where the two cells were not measured
    together, or have fewer than five rounds in common."""

    value: float
    low: float
    high: float

    @property
    def has_interval(self) -> bool:
        return bool(np.isfinite(self.low))

    @property
    def relative_half_width(self) -> float:
        return (self.high - self.low) / 2 / self.value

    @property
    def significant(self) -> bool:
        return self.has_interval and not self.low <= 1.0 <= self.high


def rounds_of(record: Mapping[str, Any]) -> Rounds:
    """The samples of a row by round."""
    seconds = np.asarray(record["samples_s"], dtype=float)
    minibatch = np.asarray(record["sample_minibatch"], dtype=int)
    number = np.asarray(record["sample_round"], dtype=int)
    passes = np.asarray(record["sample_pass"], dtype=int)
    numbers, row = np.unique(number, return_inverse=True)
    minibatches, column = np.unique(minibatch, return_inverse=True)
    last = np.zeros(len(numbers), dtype=int)
    np.maximum.at(last, row, passes)
    steady = (passes > 0) | (last[row] == 0)  # the only pass of a turn counts as steady too
    values = np.full((len(numbers), len(minibatches)), np.nan)
    cells = row[steady] * len(minibatches) + column[steady]
    by_cell = np.argsort(cells, kind="stable")
    for group in np.split(by_cell, np.flatnonzero(np.diff(cells[by_cell])) + 1) if len(by_cell) else []:
        values.flat[cells[group[0]]] = np.median(seconds[steady][group])
    minimum = np.full(len(minibatches), np.inf)
    np.minimum.at(minimum, column[steady], seconds[steady])
    start = np.unique(number, return_index=True)[1]  # samples are in the order in which they were taken
    return Rounds(numbers, minibatches, values, seconds[start], minibatch[start], minimum, int(steady.sum()))


def summary(rounds: Rounds) -> Summary:
    """The latency of a cell with its interval, and further numbers about its rounds."""
    latency = typical(rounds.steady)
    low, high = interval(rounds.steady)
    return Summary(
        median=latency,
        low=low,
        high=high,
        minimum=float(np.mean(rounds.minimum)),
        resumed=latency * float(np.exp(np.median(np.log(rounds.first / _steady_of_first(rounds))))),
        rounds=len(rounds.numbers),
        samples=rounds.samples,
        quartiles=_quartiles(rounds.steady),
    )


def _quartiles(steady: np.ndarray) -> tuple[float, float]:
    """The quartiles over the rounds of each mini-batch, averaged over the mini-batches as latencies are."""
    seen = steady[:, np.isfinite(steady).any(axis=0)]
    lower, upper = np.nanquantile(seen, [0.25, 0.75], axis=0).mean(axis=1)
    return float(lower), float(upper)


def ratio(a: Rounds, b: Rounds) -> Ratio | None:
    """How many times slower `a` is than `b` (above one: `b` is faster), over the rounds and mini-batches that both ran; None if
    there are none. In each round the two took turns, so what slows the machine for a while slows both and cancels out."""
    _, row_a, row_b = np.intersect1d(a.numbers, b.numbers, return_indices=True)
    _, column_a, column_b = np.intersect1d(a.minibatches, b.minibatches, return_indices=True)
    if not len(row_a) or not len(column_a):
        return None
    logs = np.log(a.steady[np.ix_(row_a, column_a)] / b.steady[np.ix_(row_b, column_b)])
    measured = ~np.isnan(logs)
    logs = logs[measured.any(axis=1)][:, measured.any(axis=0)]  # slow cells need not have run the same mini-batches in a round
    return _of_logs(logs) if logs.size else None


def unpaired(a: Rounds, b: Rounds) -> Ratio | None:
    """The same for two cells of different sessions: the ratio of their latencies over the mini-batches that both ran, without
    an interval, because what the machine did in one session says nothing about the other."""
    _, column_a, column_b = np.intersect1d(a.minibatches, b.minibatches, return_indices=True)
    if not len(column_a):
        return None
    return Ratio(typical(a.steady[:, column_a]) / typical(b.steady[:, column_b]), float("nan"), float("nan"))


def resumed_ratio(a: Rounds, b: Rounds) -> Ratio | None:
    """Like `ratio`, but of the first runs of turns, over the common rounds that began with the same mini-batch."""
    _, row_a, row_b = np.intersect1d(a.numbers, b.numbers, return_indices=True)
    same = a.first_minibatch[row_a] == b.first_minibatch[row_b]
    if not same.any():
        return None
    return _of_logs(np.log(a.first[row_a[same]] / b.first[row_b[same]])[:, None])


def drift(rounds: Rounds) -> tuple[float, float] | None:
    """The latencies of the first and of the second half of the rounds, if they differ by more than 2 % and by more than
    independent rounds would differ by chance; else None, also if there are too few rounds."""
    half = len(rounds.numbers) // 2
    halves = (rounds.steady[:half], rounds.steady[-half:])
    if half < FEWEST:
        return None
    (low_a, high_a), (low_b, high_b) = (interval(values, rho=0.0) for values in halves)
    chance = float(np.hypot(high_a - low_a, high_b - low_b)) / 2
    first, second = (typical(values) for values in halves)
    return (first, second) if abs(first - second) > max(chance, DRIFT * first) else None


def _of_logs(logs: np.ndarray) -> Ratio:
    low, high = interval(logs)
    return Ratio(float(np.exp(typical(logs))), float(np.exp(low)), float(np.exp(high)))


def _steady_of_first(rounds: Rounds) -> np.ndarray:
    """For each round the steady value of the mini-batch that the turn began with: [rounds]."""
    return rounds.steady[np.arange(len(rounds.numbers)), np.searchsorted(rounds.minibatches, rounds.first_minibatch)]
