"""The table at the end of an invocation: a column per backend, so that it fits a terminal however much is known of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench import columns, fairness, remarks
from bench.breakdown import PHASES
from bench.campaign import Row
from bench.columns import Column
from bench.record import label, title
from bench.shown import openable
from bench.status import Status

REFERENCE = "dynet"  # the system this field compares itself with
UNBATCHED = 3  # operators named below the table
TOO_FEW = "too few"  # there are too few rounds for an interval
APART = "apart"  # the two systems were not measured together


NARROW = 8  # so many characters of a heading must not be folded
LONG = 10  # an option with its value that has more characters is broken into two lines

Cell = Callable[[Column], str | None]
Section = Sequence[tuple[str, Cell]]  # lines that belong together: their names, and what they say of a system


def show(rows: Sequence[Row], console: Console, results: Path | None = None) -> None:
    """Print the table of one group of cells, and remarks below it. If a column for every system would be too wide, there are
    several tables, and first an overview with a line for each system. `results`: the folder that logs are relative to."""
    if not rows:
        return
    variants = columns.columns(rows)
    shown = columns.fastest(variants)
    if shown:
        console.print(f"\n{title(rows[0].cell, with_backend=False)}", style="bold", highlight=False, soft_wrap=True)
        sections = _sections(shown, fairness.same_work(variants) if fairness.differs(shown) else {})
        blocks = _blocks(shown, sections, console.width)
        if len(blocks) > 1:
            console.print(_overview(shown))
        for block in blocks:
            console.print(_table([shown[i] for i in block], sections))
    for note in _notes(rows, variants, shown, results):
        console.print(note, markup=False, highlight=False, soft_wrap=True)


def _blocks(shown: Sequence[Column], sections: Sequence[Section], width: int) -> list[list[int]]:
    """The numbers of the columns of each table, such that no table has to break a number. A long name may be folded."""
    names = max(len(name) for section in sections for name, _ in section)
    now = datetime.now(UTC)
    widths = []
    for column in shown:
        head = max(len(line) for line in _head(column, now).split("\n"))
        cells = max(len(cell(column) or "") for section in sections for _, cell in section)
        widths.append(1 + max(cells, min(head, NARROW)))
    if names + sum(widths) <= width:
        return [list(range(len(shown)))]
    most = max(1, (width - names) // max(widths))
    count = -(-len(shown) // most)
    each = -(-len(shown) // count)  # blocks of about the same size
    return [list(range(start, min(start + each, len(shown)))) for start in range(0, len(shown), each)]


def _head(column: Column, now: datetime) -> str:
    """The heading of a column, in which a long option has its value on a line of its own."""
    lines = column.head(now).split("\n")
    return "\n".join(line.replace("=", "=\n", 1) if len(line) > LONG else line for line in lines)


def _overview(shown: Sequence[Column]) -> Table:
    """A table with a line for each system: its latency, and how many times faster it is."""
    table = Table(header_style="bold", box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("", no_wrap=True)
    shown_references = references(shown)
    for name in ("steady ms", "±", "resumed ms", *(f"x {reference.name}" for reference in shown_references)):
        table.add_column(name, justify="right")
    for column in sorted(shown, key=lambda each: each.summary.median):
        values = [_number(column.summary.median * 1e3), _width(column.summary.relative_half_width).removeprefix("±")]
        values += [_number(column.summary.resumed * 1e3), *(_times_faster(reference)(column) for reference in shown_references)]
        table.add_row(escape(label(column.row.cell)), *(value or "" for value in values))
    return table


def _table(shown: Sequence[Column], sections: Sequence[Section]) -> Table:
    table = Table(header_style="bold", box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("", no_wrap=True)
    now = datetime.now(UTC)
    for column in shown:
        table.add_column(escape(_head(column, now)), justify="right", overflow="fold")
    for section in sections:
        for name, cell in section:
            values = [cell(column) for column in shown]
            if any(value is not None for value in values):  # a line without any value is left out
                table.add_row(name, *("" if value is None else escape(value) for value in values))
        table.add_section()
    return table


def _sections(shown: Sequence[Column], same_work: Mapping[str, Column]) -> list[Section]:
    return [
        _latency(shown, same_work),
        [*((f"{phase} ms", _phase(phase)) for phase in PHASES), ("rest ms", _rest)],
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
            ("  of it arenas", lambda c: _mebibytes(c.row.record["memory"].get("arena_bytes"))),
        ],
        [
            ("rounds", lambda c: str(c.summary.rounds)),
            ("steady samples", lambda c: str(c.summary.samples)),
            ("ended by", lambda c: str(c.row.record["stop"])),
            ("flags", lambda c: "below" if c.row.record["flags"] or c.row.stale else None),
        ],
    ]


def _latency(shown: Sequence[Column], same_work: Mapping[str, Column]) -> list[tuple[str, Cell]]:
    """The lines about latency and ratios. `same_work`: by backend the variant without load-time work, to be compared too."""
    lines: list[tuple[str, Cell]] = [
        ("latency ms, steady", lambda c: _number(c.summary.median * 1e3)),
        ("  95 % interval", lambda c: _width(c.summary.relative_half_width)),
        ("  minimum", lambda c: _number(c.summary.minimum * 1e3)),
        ("latency ms, resumed", lambda c: _number(c.summary.resumed * 1e3)),
        ("instances / s, steady", lambda c: _number(c.row.cell.batch_size / c.summary.median)),
    ]
    if not columns.same_minibatches(shown):
        lines.insert(1, ("  mini-batches", lambda c: str(len(c.rounds.minibatches))))
    for reference in references(shown):
        lines += [
            (f"times faster than {reference.name}", _times_faster(reference)),
            ("  95 % interval", _times_faster_interval(reference)),
            ("  significant", _no_significance(reference)),
            ("  resumed", _times_faster_resumed(reference)),
        ]
        if reference.name in same_work:
            lines += [
                (f"  {fairness.NO_LOAD_TIME}", _times_faster(same_work[reference.name], same_work)),
                ("    95 % interval", _times_faster_interval(same_work[reference.name], same_work)),
            ]
    return lines


def references(shown: Sequence[Column]) -> list[Column]:
    """The systems that the others are compared with: the slowest, and the one the field compares itself with."""
    fresh = [column for column in shown if not column.row.stale]
    if len(shown) < 2 or not fresh:
        return []
    slowest = max(fresh, key=lambda c: c.summary.median)
    return list({id(c): c for c in (slowest, *(c for c in fresh if c.name == REFERENCE))}.values())


def _times_faster(reference: Column, instead: Mapping[str, Column] | None = None) -> Cell:
    """The cells of a line with ratios. `instead`: by backend the variant to compare in place of the column; none if missing."""

    def cell(column: Column) -> str | None:
        chosen = column if instead is None else instead.get(column.name)
        ratio = None if chosen is None else columns.ratio(reference, chosen)
        return None if ratio is None else f"{ratio.value:#.3g}"

    return cell


def _times_faster_interval(reference: Column, instead: Mapping[str, Column] | None = None) -> Cell:
    def cell(column: Column) -> str | None:
        chosen = column if instead is None else instead.get(column.name)
        ratio = None if chosen is None else columns.ratio(reference, chosen)
        if chosen is None or ratio is None or chosen is reference:
            return None
        return _width(ratio.relative_half_width) if columns.together(reference, chosen) else APART

    return cell


def _no_significance(reference: Column) -> Cell:
    """The cells of a line that says "no" where the interval of the ratio contains 1; elsewhere they are empty."""

    def cell(column: Column) -> str | None:
        ratio = columns.ratio(reference, column)
        return "no" if ratio is not None and column is not reference and ratio.has_interval and not ratio.significant else None

    return cell


def _times_faster_resumed(reference: Column) -> Cell:
    def cell(column: Column) -> str | None:
        ratio = columns.resumed_ratio(reference, column)
        return None if ratio is None else f"{ratio.value:#.3g}"

    return cell


def _rest(column: Column) -> str | None:
    """The milliseconds of the latency that are in none of the backend's phases."""
    phase_times = column.row.record["breakdown"].values()
    return _number(round(column.summary.median * 1e3 - sum(phase_times), 3)) if phase_times else None


def _width(relative: float) -> str:
    return f"±{relative:.1%}" if math.isfinite(relative) else TOO_FEW


def _phase(phase: str) -> Cell:
    def cell(column: Column) -> str | None:
        value = column.row.record["breakdown"].get(phase)
        return None if value is None else _number(value)

    return cell


def _notes(rows: Sequence[Row], variants: Sequence[Column], shown: Sequence[Column], results: Path | None = None) -> list[str]:
    notes = fairness.notes(variants, shown)
    for column in shown:
        others = [c for c in variants if c.name == column.name and c is not column]
        if others:
            same = [c for c in others if _same_program(c, column)]
            times = [f"{label(c.row.cell)} {_number(c.summary.median * 1e3)} ms" for c in others if c not in same]
            if same:
                notes.append(
                    f"{label(column.row.cell)} is the same program as {', '.join(label(c.row.cell) for c in same)} here."
                )
            others = [c for c in others if c not in same]
            if others:
                notes.append(
                    f"{label(column.row.cell)} is the fastest of its variants ({', '.join(times)}).{_close(column, others)}"
                )
    for reference in references(shown):
        apart = [c.name for c in shown if not columns.together(reference, c) and columns.ratio(reference, c) is not None]
        if apart:
            notes.append(
                f"{APART}: {', '.join(apart)} and {reference.name} were not measured together, but in different sessions; "
                "their ratio is that of the two latencies, without an interval (rerun=stale measures them together)."
            )
    if shown and not columns.same_minibatches(shown):
        notes.append(
            "The latencies are means over different mini-batches, because slow systems ran fewer of them; "
            "a ratio is over those that both ran."
        )
    row_remarks: list[tuple[Row, str]] = []
    for row in rows:
        if row.record["status"] != Status.OK:
            log = "" if row.record["status"] == Status.UNSUPPORTED else f"  log: {_log(row, results)}"
            row_remarks.append((row, f"{row.record['status']}: {row.record['why']}{log}"))
        if row.earlier:
            stale = f", stale: {', '.join(row.changed)}" if row.stale else ""
            row_remarks.append((row, f"measured earlier, {row.record['started']}{stale}"))
        row_remarks += [(row, flag) for flag in row.record["flags"]]
    notes += remarks.merged(row_remarks, rows)
    for column in shown:
        unbatched = column.row.record["counters"].get("unbatched")
        if unbatched:
            first = [f"{op} ({reason})" for op, reason in unbatched.items()][:UNBATCHED]
            more = f"; and {len(unbatched) - UNBATCHED} more in its row" if len(unbatched) > UNBATCHED else ""
            notes.append(f"{label(column.row.cell)}: not batched: {'; '.join(first)}{more}")
    return notes


def _same_program(a: Column, b: Column) -> bool:
    """Whether two variants were compiled to the same program, which was measured once for both."""
    first, second = (each.row.record.get("same_as", each.row.cell.id) for each in (a, b))
    return bool(first == second and columns.together(a, b))


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


def _mebibytes(value: float | None) -> str | None:
    return None if value is None else _number(value / 2**20)


def _number(value: float | None) -> str | None:
    """The number with four significant digits, without an exponent where that is possible; None stays None."""
    if value is None:
        return None
    if value != value:
        return "?"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 0.001 else f"{value:.1g}"
