"""The invocations of one process: a single command, or all the jobs of a sweep. Skips what is finished, keeps every row."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from bench import machine
from bench.cell import Cell
from bench.config import Config, cells
from bench.measure import Group
from bench.progress import Progress
from bench.status import UNSUCCESSFUL, Exit, Status, exit_code
from bench.store import Record, Store


@dataclass
class Row:
    """A cell with its record. `earlier`: from the store, not measured now. `stale`: by other sources than today's."""

    cell: Cell
    record: Record
    earlier: bool = False
    stale: bool = False


@dataclass
class Campaign:
    started: float = field(default_factory=monotonic)
    rows: list[Row] = field(default_factory=list)
    cut: bool = False

    def run(self, config: Config) -> list[Row]:
        """The rows of one group of cells, in the order of the configuration."""
        group = cells(config)
        store = Store(Path(config.results_dir).resolve(), machine.name())
        stored = config.measure.stored
        rows: dict[str, Row] = {}
        todo = []
        for cell in group:
            latest = store.latest(cell.id) if stored else None
            if latest is None or wanted(latest, cell.source, config.rerun):
                todo.append(cell)
            else:
                rows[cell.id] = Row(cell, latest, earlier=True, stale=latest["source"] != cell.source)
        until = float("inf") if config.limit.wall_s is None else self.started + config.limit.wall_s
        with Progress(group, rows) as progress:

            def done(cell: Cell, record: Record) -> None:
                if stored and not _repeats(record, store.latest(cell.id)):
                    store.describe_machine(machine.hardware(), *machine.environment())
                    store.append(record)
                rows[cell.id] = Row(cell, record)
                progress.done(cell, record)

            if todo:
                order = random.Random(config.seed).sample(todo, len(todo))
                measuring = Group(order, config.measure, config.isolate, store.results, progress.tell, done, until)
                self.cut = not measuring.run() or self.cut
        found = [rows[cell.id] for cell in group if cell.id in rows]
        self.rows += found
        return found

    def exit(self) -> Exit:
        return exit_code((row.record["status"] for row in self.rows), self.cut)

    def summary(self) -> str:
        """One line at the end."""
        new = [row for row in self.rows if not row.earlier]
        measured = sum(row.record["status"] == Status.OK for row in new)
        parts = [f"measured {measured} cell" + "s" * (measured != 1)]
        for status in Status:
            count = sum(row.record["status"] == status for row in new)
            if status is not Status.OK and count:
                parts.append(f"{count} {status}")
        earlier = [row for row in self.rows if row.earlier]
        if earlier:
            failed = sum(row.record["status"] in UNSUCCESSFUL for row in earlier)
            without = f", {failed} of them without success (rerun=failed)" if failed else ""
            parts.append(f"{len(earlier)} finished earlier{without}")
        if self.cut:
            parts.append("cut by limit.wall_s: the same command goes on from here")
        return "; ".join(parts)


def wanted(latest: Record, source: str, rerun: str) -> bool:
    """Should a cell that has a row be measured again? Each value of `rerun` also asks for what the one before it does:
    none, stale (the sources have changed), failed, all."""
    if rerun == "all":
        return True
    if latest["status"] == Status.UNAVAILABLE and rerun != "none":
        return True  # cheap to ask, and what was missing may have come
    stale = bool(latest["source"] != source)
    failed = latest["status"] in UNSUCCESSFUL
    return rerun != "none" and (stale or (rerun == "failed" and failed))


def _repeats(record: Record, latest: Record | None) -> bool:
    """Still unavailable for the same reason: not worth another row."""
    same = ("status", "why", "source")
    return record["status"] == Status.UNAVAILABLE and latest is not None and all(record[k] == latest[k] for k in same)
