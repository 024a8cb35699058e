"""The result of `bench.run` for several cells: their rows, with the table of the command line and a pandas frame."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

from rich.console import Console

from bench import table
from bench.cell import Cell
from bench.store import Record

if TYPE_CHECKING:
    import pandas

    from bench.campaign import Row

SHOWN = ("label", "status", "latency_ms", "low_ms", "high_ms", "instances_per_s", "peak_memory_mib", "verified")
"""The columns that a notebook shows; `frame` has all."""


@dataclass(frozen=True)
class Measured:
    """Groups of cells with their rows, in the order of the cells. A notebook shows it as a table, `print` writes the table of
    the command line, and `len` and iteration are over the rows."""

    groups: Sequence[Sequence[Row]]

    @property
    def rows(self) -> list[Record]:
        return [row.record for group in self.groups for row in group]

    @property
    def cells(self) -> list[Cell]:
        return [row.cell for group in self.groups for row in group]

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """A line for each cell: `latency_ms` with `low_ms` and `high_ms`, its 95 % interval, milliseconds by activity, counts,
        memory, options (`option.<name>`). The columns are described in bench/report/frame.py."""
        from bench.report.entries import Entry
        from bench.report.frame import frame

        return frame([Entry(record) for record in self.rows])

    def ratios(self, reference: str) -> pandas.DataFrame:
        """How many times faster each cell is than the fastest variant of the backend `reference` in its group: `ratio` with
        `low` and `high`, its 95 % interval, and `verdict` in words. Raises ValueError if that backend has no cell here."""
        import pandas as pd

        from bench.report.aggregate import compare, fastest
        from bench.report.entries import Entry

        names = list(dict.fromkeys(cell.backend.name for cell in self.cells))
        if reference not in names:
            raise ValueError(f"reference='{reference}': it is none of the systems measured: {', '.join(names)}")
        lines = []
        for group in self.groups:
            entries = [Entry(row.record) for row in group]
            base = fastest(entry for entry in entries if entry.backend == reference)
            for entry in entries:
                comparison = None if base is None else compare(base, entry)
                if comparison is not None and entry is not base:
                    key = {k: entry.record[k] for k in ("workload", "size", "batch_size", "threads")}
                    ratio = {"ratio": comparison.ratio.value, "low": comparison.ratio.low, "high": comparison.ratio.high}
                    lines.append({**key, "label": entry.label, **ratio, "verdict": comparison.verdict})
        columns = ["workload", "size", "batch_size", "threads", "label", "ratio", "low", "high", "verdict"]
        return pd.DataFrame(lines, columns=columns)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.rows)

    def __repr__(self) -> str:
        out = io.StringIO()
        console = Console(file=out, width=100)
        for group in self.groups:
            table.show(group, console)
        return out.getvalue().strip("\n")

    def _repr_html_(self) -> str:
        """For notebooks: a table for each group of cells, and below it the reasons of cells that have not finished."""
        from bench.record import title

        parts = []
        begin = 0
        for group in self.groups:
            own = self.frame.iloc[begin : begin + len(group)]
            begin += len(group)
            parts.append(f"<p><b>{escape(title(group[0].cell, with_backend=False))}</b></p>")
            parts.append(own[list(SHOWN)].to_html(index=False, float_format=lambda value: f"{value:.4g}", na_rep=""))
            reasons = [(row["label"], row["why"]) for _, row in own.iterrows() if isinstance(row["why"], str)]
            parts += [f"<p>{escape(str(label))}: {escape(reason)}</p>" for label, reason in reasons]
        return "\n".join(parts)
