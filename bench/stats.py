"""Statistics of a cell's raw samples. Nothing is ever dropped from them.

Mini-batches differ in work (trees have different sizes), so samples are grouped by mini-batch: a cell's latency is the
median over the repetitions of each mini-batch, averaged over the mini-batches, and the bootstrap resamples inside each group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

Groups = list[np.ndarray]  # one array of seconds per mini-batch, in the order measured
RESAMPLES = 1000
LEVEL = 0.95


class Summary(NamedTuple):
    """Seconds per mini-batch. `low` and `high` are NaN where a mini-batch has fewer than two samples."""

    median: float
    low: float
    high: float
    minimum: float
    iqr: float
    samples: int

    @property
    def relative_half_width(self) -> float:
        width = (self.high - self.low) / 2 / self.median
        return width if np.isfinite(width) else float("inf")


class Ratio(NamedTuple):
    value: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        return not self.low <= 1.0 <= self.high


def groups_of(record: Mapping[str, Any]) -> dict[int, np.ndarray]:
    """The samples of a stored record by mini-batch."""
    seconds = np.asarray(record["samples_s"], dtype=float)
    minibatch = np.asarray(record["sample_minibatch"], dtype=int)
    return {int(i): seconds[minibatch == i] for i in np.unique(minibatch)}


def typical(groups: Sequence[np.ndarray]) -> float:
    return float(np.mean([np.median(g) for g in groups]))


def summary(groups: Sequence[np.ndarray], resamples: int = RESAMPLES) -> Summary:
    low, high = float("nan"), float("nan")
    if min(len(g) for g in groups) >= 2:
        random = np.random.default_rng(0)
        medians = [np.median(g[random.integers(len(g), size=(resamples, len(g)))], axis=1) for g in groups]
        low, high = _interval(np.mean(medians, axis=0))
    return Summary(
        median=typical(groups),
        low=low,
        high=high,
        minimum=float(np.mean([g.min() for g in groups])),
        iqr=float(np.mean([np.subtract(*np.percentile(g, [75, 25])) for g in groups])),
        samples=sum(len(g) for g in groups),
    )


def ratio(a: Mapping[int, np.ndarray], b: Mapping[int, np.ndarray], resamples: int = RESAMPLES) -> Ratio | None:
    """How many times slower `a` is than `b` (above one: `b` is faster), over the mini-batches both ran.

    Repetition j of a mini-batch in `a` pairs with repetition j in `b`: rounds interleave the cells, so the two were measured
    one after the other. The median of a mini-batch's log-ratios, averaged over mini-batches, and back by exp."""
    logs = []
    for minibatch in sorted(a.keys() & b.keys()):
        n = min(len(a[minibatch]), len(b[minibatch]))
        logs.append(np.log(a[minibatch][:n] / b[minibatch][:n]))
    if not logs:
        return None
    value = float(np.exp(typical(logs)))
    if min(len(g) for g in logs) < 2:
        return Ratio(value, float("nan"), float("nan"))
    random = np.random.default_rng(0)
    medians = [np.median(g[random.integers(len(g), size=(resamples, len(g)))], axis=1) for g in logs]
    low, high = _interval(np.mean(medians, axis=0))
    return Ratio(value, float(np.exp(low)), float(np.exp(high)))


def _interval(estimates: np.ndarray) -> tuple[float, float]:
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(estimates, [tail, 1 - tail])
    return float(low), float(high)
