"""The lines below the table: what each system ran on, what did not work and why, and what one has to know about the ratios."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import columns, fairness, remarks
from bench.campaign import Row
from bench.columns import APART, Column, number_text
from bench.record import label
from bench.sessions import in_one
from bench.shown import openable
from bench.status import Status

UNBATCHED = 3  # operators that are named, of those that were not batched
LONGEST_OPERATOR = 60  # letters of an operator that are shown: one of DyNet's names each of its operands


def notes(rows: Sequence[Row], variants: Sequence[Column], shown: Sequence[Column], results: Path | None = None) -> list[str]:
    """The lines for a group of cells with these rows. `variants` has a column for each row with samples, `shown` those in the
    table; `results` is the folder that logs are relative to."""
    lines = fairness.notes(variants, shown)
    for column in shown:
        lines += _other_variants(column, [c for c in variants if c.name == column.name and c is not column])
    for reference in columns.references(shown):
        apart = [c.name for c in shown if not in_one(reference, c) and columns.ratio(reference, c) is not None]
        if apart:
            lines.append(
                f"{APART}: {', '.join(apart)} and {reference.name} were not measured together, but in different sessions; "
                "their ratio is that of the two latencies, without an interval (rerun=stale measures them together)."
            )
    if shown and not columns.same_minibatches(shown):
        lines.append(
            "The latencies are means over different mini-batches, because slow systems ran fewer of them; "
            "a ratio is over those that both ran."
        )
    lines += remarks.merged([(row, text) for row in rows for text in _remarks(row, results)], rows)
    for column in shown:
        unbatched = column.row.record["counters"].get("unbatched")
        if unbatched:
            first = [f"{in_short(op)} ({reason})" for op, reason in unbatched.items()][:UNBATCHED]
            more = f"; and {len(unbatched) - UNBATCHED} more in its row" if len(unbatched) > UNBATCHED else ""
            lines.append(f"{label(column.row.cell)}: not batched: {'; '.join(first)}{more}")
    return lines


def in_short(operator: str) -> str:
    """An operator of DyNet's as a line names it: of one with hundreds of operands the beginning."""
    return operator if len(operator) <= LONGEST_OPERATOR else f"{operator[:LONGEST_OPERATOR]}..."


def _other_variants(column: Column, others: Sequence[Column]) -> Iterator[str]:
    """The lines about the variants of a system that the table does not show, `others`, beside the one that it shows."""
    name = label(column.row.cell)
    same = [c for c in others if _same_program(c, column)]
    if same:
        yield f"{name} is the same program as {', '.join(label(c.row.cell) for c in same)} here."
    others = [c for c in others if c not in same]
    if others:
        times = [f"{label(c.row.cell)} {number_text(c.summary.median * 1e3)} ms" for c in others]
        yield f"{name} is the fastest of its variants ({', '.join(times)}).{_close(column, others)}"


def _remarks(row: Row, results: Path | None) -> Iterator[str]:
    """What has to be said of one row: that it did not work, that it is an earlier one, and its flags."""
    if row.record["status"] != Status.OK:
        log = "" if row.record["status"] == Status.UNSUPPORTED else f"  log: {_log(row, results)}"
        yield f"{row.record['status']}: {row.record['why']}{log}"
    if row.earlier:
        stale = f", stale: {', '.join(row.changed)}" if row.stale else ""
        yield f"measured earlier, {row.record['started']}{stale}"
    yield from row.record["flags"]


def _same_program(a: Column, b: Column) -> bool:
    """Whether two variants were compiled to the same program, which was measured once for both."""
    first, second = (each.row.record.get("same_as", each.row.cell.id) for each in (a, b))
    return bool(first == second and in_one(a, b))


def _log(row: Row, results: Path | None) -> str:
    log = row.record["log"]
    return openable(results / log) if log and results is not None else str(log)


def _close(column: Column, others: Sequence[Column]) -> str:
    """A warning if variants are not significantly slower than the one that was chosen by the very samples that are shown."""
    near = []
    for other in others:
        ratio = columns.ratio(other, column)
        if ratio is not None and ratio.has_interval and not ratio.significant:
            near.append(label(other.row.cell))
    if not near:
        return ""
    return f" It is not significantly faster than {', '.join(near)}: the choice favours it, by less than its interval."
