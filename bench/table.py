"""The table at the end of an invocation: a column per backend, so that it fits a terminal however much is known of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench import columns, fairness
from bench.breakdown import PHASES
from bench.campaign import Row
from bench.columns import Column, number_text
from bench.log import printable
from bench.notes import notes
from bench.record import label, title
from bench.sessions import in_one

TOO_FEW = "too few"  # there are too few rounds for an interval

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
    shown = columns.fastest_variants(variants)
    if shown:
        console.print(f"\n{title(rows[0].cell, with_backend=False)}", style="bold", highlight=False, soft_wrap=True)
        sections = _sections(shown, fairness.same_work(variants) if fairness.differs(shown) else {})
        blocks = _blocks(shown, sections, console.width)
        if len(blocks) > 1:
            console.print(_overview(shown))
        for block in blocks:
            console.print(_table([shown[i] for i in block], sections))
    for note in notes(rows, variants, shown, results):
        console.print(printable(note), markup=False, highlight=False, soft_wrap=True)


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
    shown_references = columns.references(shown)
    for name in ("steady ms", "±", "resumed ms", *(f"x {reference.name}" for reference in shown_references)):
        table.add_column(name, justify="right")
    for column in sorted(shown, key=lambda each: each.summary.median):
        values = [number_text(column.summary.median * 1e3), _width(column.summary.relative_half_width).removeprefix("±")]
        values += [
            number_text(column.summary.resumed * 1e3),
            *(_times_faster(reference, column) for reference in shown_references),
        ]
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
        [*((f"{phase} ms", partial(_phase, phase)) for phase in PHASES), ("rest ms", _rest)],
        [
            ("batches", lambda c: number_text(c.row.record["counters"].get("batches"))),
            ("mean batch width", lambda c: number_text(c.row.record["counters"].get("mean_batch_width"))),
            ("launches", lambda c: number_text(c.row.record["counters"].get("launches"))),
            ("nodes", lambda c: number_text(c.row.record["counters"].get("nodes"))),
        ],
        [
            ("verified", lambda c: f"yes, {c.row.record['verified']['n']}"),
            (
                "largest error",
                lambda c: f"{c.row.record['verified']['max_rel']:.1e}" if c.row.record["verified"]["max_rel"] else "none",
            ),
        ],
        [
            ("load s", lambda c: number_text(c.row.record["cold"]["load_s"])),
            ("compile s", lambda c: number_text(c.row.record["cold"]["compile_s"])),
            ("first run ms", lambda c: number_text(c.row.record["cold"]["first_s"] * 1e3)),
            ("peak memory MiB", lambda c: number_text(c.row.record["memory"]["peak_rss_bytes"] / 2**20)),
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
        ("latency ms, steady", lambda c: number_text(c.summary.median * 1e3)),
        ("  95 % interval", lambda c: _width(c.summary.relative_half_width)),
        ("  minimum", lambda c: number_text(c.summary.minimum * 1e3)),
        ("  lower quartile", lambda c: number_text(c.summary.quartiles[0] * 1e3)),
        ("  upper quartile", lambda c: number_text(c.summary.quartiles[1] * 1e3)),
        ("latency ms, resumed", lambda c: number_text(c.summary.resumed * 1e3)),
        ("instances / s, steady", lambda c: number_text(c.row.cell.batch_size / c.summary.median)),
    ]
    if not columns.same_minibatches(shown):
        lines.insert(1, ("  mini-batches", lambda c: str(len(c.rounds.minibatches))))
    for reference in columns.references(shown):
        lines += [
            (f"times faster than {reference.name}", partial(_times_faster, reference)),
            ("  95 % interval", partial(_times_faster_interval, reference)),
            ("  significant", partial(_no_significance, reference)),
            ("  resumed", partial(_times_faster_resumed, reference)),
        ]
        if reference.name in same_work:
            lines += [
                (f"  {fairness.NO_LOAD_TIME}", partial(_times_faster, same_work[reference.name], instead=same_work)),
                ("    95 % interval", partial(_times_faster_interval, same_work[reference.name], instead=same_work)),
            ]
    return lines


def _times_faster(reference: Column, column: Column, instead: Mapping[str, Column] | None = None) -> str | None:
    """The ratio. `instead`: by backend the variant to compare in place of the column; none if missing."""
    chosen = column if instead is None else instead.get(column.name)
    ratio = None if chosen is None else columns.ratio(reference, chosen)
    return None if ratio is None else f"{ratio.value:#.3g}"


def _times_faster_interval(reference: Column, column: Column, instead: Mapping[str, Column] | None = None) -> str | None:
    chosen = column if instead is None else instead.get(column.name)
    ratio = None if chosen is None else columns.ratio(reference, chosen)
    if chosen is None or ratio is None or chosen is reference:
        return None
    return _width(ratio.relative_half_width) if in_one(reference, chosen) else columns.APART


def _no_significance(reference: Column, column: Column) -> str | None:
    """Where the interval of the ratio contains 1, "no"; elsewhere the line is empty."""
    ratio = columns.ratio(reference, column)
    return "no" if ratio is not None and column is not reference and ratio.has_interval and not ratio.significant else None


def _times_faster_resumed(reference: Column, column: Column) -> str | None:
    ratio = columns.resumed_ratio(reference, column)
    return None if ratio is None else f"{ratio.value:#.3g}"


def _rest(column: Column) -> str | None:
    """The milliseconds of the latency that are in none of the backend's phases."""
    phase_times = column.row.record["breakdown"].values()
    return number_text(round(column.summary.median * 1e3 - sum(phase_times), 3)) if phase_times else None


def _width(relative: float) -> str:
    return f"±{relative:.1%}" if math.isfinite(relative) else TOO_FEW


def _phase(phase: str, column: Column) -> str | None:
    return number_text(column.row.record["breakdown"].get(phase))


def _mebibytes(value: float | None) -> str | None:
    return None if value is None else number_text(value / 2**20)
