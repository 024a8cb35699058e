"""What the table compares: a column for each system, and the ratio of any two of them.

A ratio has an interval only if both cells were measured in one session, in turns. Rows of different sessions give the ratio of
their latencies without an interval; a stale row gives no ratio at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from bench import stats
from bench.campaign import Row
from bench.record import label
from bench.sessions import in_one
from bench.status import Status

REFERENCE = "dynet"  # the system this field compares itself with
APART = "apart"  # stands for the interval where two systems were not measured together


@dataclass
class Column:
    """A row with its samples by round and their statistics, in seconds."""

    row: Row
    rounds: stats.Rounds
    summary: stats.Summary

    @property
    def name(self) -> str:
        """The backend's name, followed by the precision of its products if that is not float32: such rows do not count as
        variants of those in float32, and every ratio of the two shows the precision."""
        cell = self.row.cell
        return cell.backend.name + (f" {cell.precision}" if cell.precision != "fp32" else "")

    @property
    def session(self) -> str | None:
        return self.row.record.get("session")

    def head(self, now: datetime) -> str:
        """The heading, on a line each: the system, its options that are not the defaults, and the age of an earlier row."""
        lines = label(self.row.cell).split(" ")
        if ran_on_fewer(self.row):
            lines.append(f"({ran_on_fewer(self.row)})")
        if self.row.earlier:
            lines.append(age(self.row.record["started"], now))
        if self.row.stale:
            lines.append("stale")
        return "\n".join(lines)


def ran_on_fewer(row: Row) -> str:
    """The number of threads used, as in "1 thread", if it is not the number that was asked for; else an empty text."""
    used = row.record.get("ran", {}).get("threads", row.cell.threads)
    return "" if used == row.cell.threads else f"{used} thread" + "s" * (used != 1)


def columns(rows: Sequence[Row]) -> list[Column]:
    """A column for each row with samples, that is, with status `ok`."""
    finished = []
    for row in rows:
        if row.record["status"] == Status.OK:
            rounds = stats.rounds_of(row.record)
            finished.append(Column(row, rounds, stats.summary(rounds)))
    return finished


def fastest_variants(candidates: Sequence[Column]) -> list[Column]:
    """The fastest variant of each backend, in the order of the backends. A stale row loses against any row that is not."""
    best: dict[str, Column] = {}
    for column in candidates:
        rival = best.get(column.name)
        if rival is None or (column.row.stale, not faster(column, rival)) < (rival.row.stale, True):
            best[column.name] = column
    return list(best.values())


def faster(a: Column, b: Column) -> bool:
    """Whether `a` is faster than `b` on the mini-batches that both ran; a slow variant may have run fewer of them."""
    speedup = stats.ratio(b.rounds, a.rounds) if in_one(a, b) else stats.unpaired(b.rounds, a.rounds)
    return speedup is not None and speedup.value > 1


def ratio(reference: Column, column: Column) -> stats.Ratio | None:
    """How many times faster `column` is than `reference` when steady; None for stale rows, or without common mini-batches."""
    if reference.row.stale or column.row.stale:
        return None
    compare = stats.ratio if in_one(reference, column) else stats.unpaired
    return compare(reference.rounds, column.rounds)


def resumed_ratio(reference: Column, column: Column) -> stats.Ratio | None:
    """How many times faster `column` is in the first run after a pause; None also for rows of different sessions."""
    if reference.row.stale or column.row.stale or not in_one(reference, column):
        return None
    return stats.resumed_ratio(reference.rounds, column.rounds)


def same_minibatches(compared: Sequence[Column]) -> bool:
    """Whether all columns ran the same mini-batches, so that their latencies can be compared."""
    return all(np.array_equal(column.rounds.minibatches, compared[0].rounds.minibatches) for column in compared)


def age(started: str, now: datetime) -> str:
    """How long before `now` the time `started` (ISO format, in UTC if it names no zone) was, in one unit, as in "3 h ago"."""
    begun = datetime.fromisoformat(started)
    seconds = (now - (begun if begun.tzinfo else begun.replace(tzinfo=UTC))).total_seconds()
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= (2 if unit == "days" else 1) * length:
            return f"{seconds / length:.0f} {unit} ago"
    return "just now"


def references(shown: Sequence[Column]) -> list[Column]:
    """The systems that the others are compared with: the slowest, and the one the field compares itself with."""
    fresh = [column for column in shown if not column.row.stale]
    if len(shown) < 2 or not fresh:
        return []
    slowest = max(fresh, key=lambda c: c.summary.median)
    return list({id(c): c for c in (slowest, *(c for c in fresh if c.name == REFERENCE))}.values())


def number_text(value: float | None) -> str | None:
    """The number with four significant digits, without an exponent where that is possible; None stays None."""
    if value is None:
        return None
    if value != value:
        return "?"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 0.001 else f"{value:.1g}"
