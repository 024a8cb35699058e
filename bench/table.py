"""The table at the end of an invocation: a column per backend, so that it fits a terminal however much is known of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench import stats
from bench.breakdown import PHASES
from bench.campaign import Row
from bench.record import label, title
from bench.status import Status

REFERENCE = "dynet"  # the system this field compares itself with
UNBATCHED = 3  # operators named below the table


@dataclass
class Column:
    row: Row
    rounds: stats.Rounds
    summary: stats.Summary

    @property
    def name(self) -> str:
        return self.row.cell.backend.name


Cell = Callable[[Column], str | None]


def show(rows: Sequence[Row], console: Console) -> None:
    """One table for one group of cells, and below it what did not fit or did not work."""
    if not rows:
        return
    columns = [_column(row) for row in rows if row.record["status"] == Status.OK]
    shown = _fastest(columns)
    if shown:
        console.print(f"\n{title(rows[0].cell, with_backend=False)}", style="bold", highlight=False, soft_wrap=True)
        console.print(_table(shown))
    for note in _notes(rows, columns, shown):
        console.print(note, markup=False, highlight=False, soft_wrap=True)


def _column(row: Row) -> Column:
    rounds = stats.rounds_of(row.record)
    return Column(row, rounds, stats.summary(rounds))


def _fastest(columns: Sequence[Column]) -> list[Column]:
    """Of each backend the fastest variant."""
    best: dict[str, Column] = {}
    for column in columns:
        rival = best.get(column.name)
        if rival is None or _faster(column, rival):
            best[column.name] = column
    return list(best.values())


def _faster(a: Column, b: Column) -> bool:
    if list(a.rounds.minibatches) == list(b.rounds.minibatches):
        return a.summary.median < b.summary.median
    ratio = stats.ratio(b.rounds, a.rounds)  # a slow one ran fewer mini-batches: compare on those
    return ratio is not None and ratio.value > 1


def _table(columns: Sequence[Column]) -> Table:
    table = Table(header_style="bold")
    table.add_column("")
    for column in columns:
        table.add_column(label(column.row.cell).replace(" ", "\n"), justify="right")
    sections: list[list[tuple[str, Cell]]] = [
        _latency(columns),
        [(f"{phase} ms", _phase(phase)) for phase in PHASES],
        [
            ("batches", lambda c: _number(c.row.record["counters"].get("batches"))),
            ("mean batch width", lambda c: _number(c.row.record["counters"].get("mean_batch_width"))),
            ("launches", lambda c: _number(c.row.record["counters"].get("launches"))),
            ("nodes", lambda c: _number(c.row.record["counters"].get("nodes"))),
        ],
        [
            ("verified", lambda c: f"yes, {c.row.record['verified']['n']}"),
            (
                "largest error",
                lambda c: f"{c.row.record['verified']['max_rel']:.1e}" if c.row.record["verified"]["max_rel"] else "none",
            ),
        ],
        [
            ("load s", lambda c: _number(c.row.record["cold"]["load_s"])),
            ("compile s", lambda c: _number(c.row.record["cold"]["compile_s"])),
            ("first run ms", lambda c: _number(c.row.record["cold"]["first_s"] * 1e3)),
            ("peak memory MiB", lambda c: _number(c.row.record["memory"]["peak_rss_bytes"] / 2**20)),
        ],
        [
            ("samples", lambda c: f"{c.summary.samples} ({c.row.record['stop']})"),
            ("flags", lambda c: "see below" if c.row.record["flags"] or c.row.stale else None),
        ],
    ]
    for section in sections:
        for name, cell in section:
            values = [cell(column) for column in columns]
            if any(value is not None for value in values):  # a line that nobody fills is left out
                table.add_row(name, *("" if value is None else escape(value) for value in values))
        table.add_section()
    return table


def _latency(columns: Sequence[Column]) -> list[tuple[str, Cell]]:
    slowest = max(columns, key=lambda c: c.summary.median)
    lines: list[tuple[str, Cell]] = [
        ("latency ms (median)", lambda c: _number(c.summary.median * 1e3)),
        ("  95 % interval", lambda c: f"{_number(c.summary.low * 1e3)} .. {_number(c.summary.high * 1e3)}"),
        ("  minimum", lambda c: _number(c.summary.minimum * 1e3)),
        ("instances / s", lambda c: _number(c.row.cell.batch_size / c.summary.median)),
    ]
    for reference in {id(c): c for c in (slowest, *(c for c in columns if c.name == REFERENCE))}.values():
        if len(columns) > 1:
            lines.append((f"times faster than {reference.name}", _times_faster(reference)))
            lines.append(("  95 % interval", _times_faster_interval(reference)))
    return lines


def _times_faster(reference: Column) -> Cell:
    def cell(column: Column) -> str | None:
        ratio = stats.ratio(reference.rounds, column.rounds)
        return None if ratio is None else f"{ratio.value:#.3g}"

    return cell


def _times_faster_interval(reference: Column) -> Cell:
    def cell(column: Column) -> str | None:
        ratio = stats.ratio(reference.rounds, column.rounds)
        return None if ratio is None or column is reference else f"{ratio.low:#.3g} .. {ratio.high:#.3g}"

    return cell


def _phase(phase: str) -> Cell:
    def cell(column: Column) -> str | None:
        value = column.row.record["breakdown"].get(phase)
        return None if value is None else _number(value)

    return cell


def _notes(rows: Sequence[Row], columns: Sequence[Column], shown: Sequence[Column]) -> list[str]:
    notes = []
    for column in shown:
        others = [c for c in columns if c.name == column.name and c is not column]
        if others:
            times = ", ".join(f"{label(c.row.cell)} {_number(c.summary.median * 1e3)} ms" for c in others)
            notes.append(f"{label(column.row.cell)} is the fastest of its variants ({times}).")
    for row in rows:
        name = label(row.cell)
        if row.record["status"] != Status.OK:
            log = "" if row.record["status"] == Status.UNSUPPORTED else f"  log: {row.record['log']}"
            notes.append(f"{name}: {row.record['status']}: {row.record['why']}{log}")
        if row.earlier:
            stale = ", by other sources (stale)" if row.stale else ""
            notes.append(f"{name}: measured earlier, {row.record['started']}{stale}")
        for flag in row.record["flags"]:
            notes.append(f"{name}: {flag}")
        ran_on = row.record.get("ran", {}).get("threads", row.cell.threads)
        if ran_on != row.cell.threads:
            notes.append(f"{name}: ran on {ran_on} thread" + "s" * (ran_on != 1))
    for column in shown:
        unbatched = column.row.record["counters"].get("unbatched")
        if unbatched:
            first = [f"{op} ({why})" for op, why in unbatched.items()][:UNBATCHED]
            more = f"; and {len(unbatched) - UNBATCHED} more in its row" if len(unbatched) > UNBATCHED else ""
            notes.append(f"{label(column.row.cell)}: not batched: {'; '.join(first)}{more}")
    return notes


def _number(value: float | None) -> str | None:
    """Four digits, as written by hand."""
    if value is None:
        return None
    if value != value:
        return "?"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 0.001 else f"{value:.1g}"
