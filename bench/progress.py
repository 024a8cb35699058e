"""Shows progress on standard error: a bar for each cell on a terminal, else a line for each finished cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType

import rich.progress
from rich.console import Console
from rich.markup import escape

from bench import stats
from bench.cell import Cell
from bench.record import label, title
from bench.status import Status
from bench.store import Record


class Progress:
    """Shows on the terminal how far each cell is, and writes a line for each that has ended."""

    def __init__(self, cells: Sequence[Cell], finished: Iterable[str]) -> None:
        """`cells`: those of one group; `finished`: the ids of those that have rows already."""
        self.console = Console(stderr=True)
        self._bars = rich.progress.Progress(
            rich.progress.SpinnerColumn(finished_text=" "),
            rich.progress.TextColumn("{task.description}"),
            rich.progress.BarColumn(bar_width=20),
            rich.progress.TimeElapsedColumn(),
            rich.progress.TextColumn("{task.fields[text]}"),
            console=self.console,
            disable=not self.console.is_terminal,
            transient=True,
            refresh_per_second=4,
        )
        self._total = len(cells)
        self._done = set(finished)
        self._heading = title(cells[0], with_backend=False) if cells else ""
        add = self._bars.add_task
        self._tasks = {cell.id: add(escape(label(cell)), total=1, start=False, text="waiting") for cell in cells}
        for cell_id in self._done:
            self._bars.update(self._tasks[cell_id], completed=1, text="finished earlier")

    def __enter__(self) -> Progress:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bars.stop()

    def tell(self, cell: Cell, text: str, share: float) -> None:
        task = self._tasks[cell.id]
        if text == "starting":
            self._bars.start_task(task)
        self._bars.update(task, text=escape(text), completed=share)

    def done(self, cell: Cell, record: Record) -> None:
        self._done.add(cell.id)
        text = outcome(record)
        self._bars.update(self._tasks[cell.id], completed=1, text=escape(text))
        if not self.console.is_terminal:
            line = f"[{len(self._done)}/{self._total}] {self._heading}: {label(cell)}: {text}"
            self.console.print(line, markup=False, highlight=False, soft_wrap=True)


def outcome(record: Record) -> str:
    """What the line of a cell that has ended says: its latency, or its status and the reason."""
    if record["status"] != Status.OK:
        return f"{record['status']}: {record['why']}"
    summary = stats.summary(stats.rounds_of(record))
    return f"{summary.median * 1e3:.4g} ms, {summary.rounds} rounds, ended by {record['stop']}"
