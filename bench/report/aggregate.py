"""Ratios of latencies and geometric means of ratios, with 95 % intervals, and whether they are significant."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bench import stats
from bench.report.entries import Entry, refs
from bench.sessions import in_one
from bench.stats import Ratio


@dataclass(frozen=True)
class Comparison:
    """How many times faster `entry` is than `reference`: the value of `ratio`."""

    reference: Entry
    entry: Entry
    ratio: Ratio
    together: bool  # measured in one session, in turns

    @property
    def rows(self) -> tuple[str, ...]:
        return refs((self.reference, self.entry))

    @property
    def verdict(self) -> str:
        """The result in words: `faster`, `slower`, `no significant difference`, `too few rounds` or `different sessions`."""
        if not self.together:
            return "different sessions"
        if not self.ratio.has_interval:
            return "too few rounds"
        if not self.ratio.significant:
            return "no significant difference"
        return "faster" if self.ratio.value > 1 else "slower"


@lru_cache(maxsize=1 << 16)  # because tables, figures and means need the same ratios
def compare(reference: Entry, entry: Entry) -> Comparison | None:
    """The ratio of two rows. Within a session it is made round by round and has an interval by the block bootstrap
    (bench/interval.py). For different sessions it is the ratio of the latencies without an interval, because no interval of one
    session covers what changed until the next. None if one of them has not finished, or if they share no mini-batch."""
    if not (reference.ok and entry.ok):
        return None
    same = in_one(reference, entry)
    ratio = (stats.ratio if same else stats.unpaired)(reference.rounds, entry.rounds)
    return None if ratio is None else Comparison(reference, entry, ratio, same)


def fastest(entries: Iterable[Entry]) -> Entry | None:
    """The fastest of the rows that have finished; None if none has. Rows of one session are compared round by round."""
    best: Entry | None = None
    for entry in entries:
        if not entry.ok:
            continue
        comparison = None if best is None else compare(best, entry)
        if best is None or (comparison is not None and comparison.ratio.value > 1):
            best = entry
    return best


@dataclass(frozen=True)
class Mean:
    """A geometric mean of `count` ratios. `left_out`: the number of cells without a ratio, which are not in it. `low`, `high`:
    the ends of its 95 % interval, NaN if a ratio has none."""

    value: float
    low: float
    high: float
    count: int
    left_out: int
    apart: int  # ratios in it of rows of different sessions
    rows: tuple[str, ...]

    @property
    def has_interval(self) -> bool:
        return self._ratio.has_interval

    @property
    def significant(self) -> bool:
        return self._ratio.significant

    @property
    def _ratio(self) -> Ratio:
        return Ratio(self.value, self.low, self.high)


def geometric_mean(comparisons: Sequence[Comparison | None]) -> Mean | None:
    """The geometric mean over the cells that all compared systems have finished. In `comparisons`, None is a cell that one of
    them has not finished. The result is None if there is no other cell.

    The interval says how precisely this set of cells was measured, not what other cells would give: the half-widths of the
    ratios' intervals, as logarithms, are added as those of independent errors."""
    finished = [each for each in comparisons if each is not None]
    if not finished:
        return None
    logs = np.log([each.ratio.value for each in finished])
    centre = float(logs.mean())
    below = np.log([each.ratio.value / each.ratio.low for each in finished])
    above = np.log([each.ratio.high / each.ratio.value for each in finished])
    low, high = (float(np.sqrt(np.sum(np.square(half)))) / len(finished) for half in (below, above))
    return Mean(
        value=math.exp(centre),
        low=math.exp(centre - low),
        high=math.exp(centre + high),
        count=len(finished),
        left_out=len(comparisons) - len(finished),
        apart=sum(not each.together for each in finished),
        rows=tuple(dict.fromkeys(ref for each in finished for ref in each.rows)),
    )
