"""The invocations of one process: a single command, or all the jobs of a sweep. Skips what is finished, keeps every row."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from bench import lock, machine, record, sessions, support
from bench.cell import Cell
from bench.config import Config, cells
from bench.isolate import limits
from bench.measure import Group
from bench.progress import Progress
from bench.registry import ConfigError
from bench.software import changes, software
from bench.status import UNSUCCESSFUL, Exit, Status, exit_code
from bench.store import Record, Store


@dataclass
class Row:
    """A cell with its record. `earlier`: from the store, not measured now. `changed`: what is other than it was then."""

    cell: Cell
    record: Record
    earlier: bool = False
    changed: Sequence[str] = ()

    @property
    def stale(self) -> bool:
        return bool(self.changed)


@dataclass
class Campaign:
    started: float = field(default_factory=monotonic)
    rows: list[Row] = field(default_factory=list)
    cut: bool = False
    unkept: int = 0  # rows that could not be written to the store

    def run(self, config: Config) -> list[Row]:
        """The rows of one group of cells, in the order of the configuration. If it is interrupted, the rows of the cells that
        have ended by then are in `rows` all the same."""
        group = cells(config)
        store = Store(Path(config.results_dir).resolve(), machine.name())
        if config.measure.stored:
            try:
                store.open()
            except OSError as error:
                raise ConfigError(f"results_dir={config.results_dir}: rows cannot be kept there: {error}") from error
        until = float("inf") if config.limit.wall_s is None else self.started + config.limit.wall_s
        rows: dict[str, Row] = {}
        try:
            rows, todo = self._sort(group, store, config)
            if todo:
                with lock.machine(config.lock, lambda text: print(text, file=sys.stderr), until) as waited:
                    if waited:  # the other campaign may have measured some of these cells
                        store.reread()
                        rows, todo = self._sort(group, store, config)
                    self._measure(group, todo, rows, store, config, until)
        except lock.Busy as busy:
            raise ConfigError(str(busy)) from busy
        except lock.OutOfTime:
            self.cut = True
        finally:
            found = [rows[cell.id] for cell in group if cell.id in rows]
            self.rows += found
        return found

    def _sort(self, group: Sequence[Cell], store: Store, config: Config) -> tuple[dict[str, Row], list[Cell]]:
        """The rows that stand, by the cells' ids, and the cells to measure."""
        rows: dict[str, Row] = {}
        known: dict[str, Record] = {}
        todo = []
        settings = config.measure.settings()
        kept = {c.id: store.history(c.id) if config.measure.stored else [] for c in group}
        usable = {i: [row for row in rows if record.whole(row) and sessions.usable(row, settings)] for i, rows in kept.items()}
        chosen = sessions.together(usable)
        for cell in group:
            latest = chosen.get(cell.id)
            if latest is None:
                todo.append(cell)
                continue
            known[cell.id] = latest
            changed = (["sources"] if latest["source"] != cell.source else []) + changes(latest["software"], software(cell))
            if not wanted(latest, changed, config.rerun, _roomier(latest, config)):
                rows[cell.id] = Row(cell, latest, earlier=True, changed=changed)
                continue
            todo.append(cell)
            if changed:
                print(f"stale: {record.title(cell)}: {', '.join(changed)}", file=sys.stderr)
        standing = {cell_id: row.record for cell_id, row in rows.items()}
        again = sessions.rivals(standing, [cell.id for cell in todo], known, config.rerun)
        todo = [cell for cell in group if cell in todo or cell.id in again]
        return {cell_id: row for cell_id, row in rows.items() if cell_id not in again}, todo

    def _measure(
        self, group: Sequence[Cell], todo: Sequence[Cell], rows: dict[str, Row], store: Store, config: Config, until: float
    ) -> None:
        if not todo:
            return
        index = support.Index()
        with Progress(group, rows) as progress:

            def done(cell: Cell, row: Record) -> None:
                rows[cell.id] = Row(cell, row)
                progress.done(cell, row)
                if not row["emulated"]:  # what runs on an emulated device need not run on this machine
                    support.learn(index, cell, row["status"], row["why"])
                if config.measure.stored and not row["emulated"] and not _repeats(row, store.latest(cell.id)):
                    self._keep(store, cell, row)

            order = random.Random(config.seed).sample(todo, len(todo))
            measuring = Group(order, config.measure, config.isolate, store.results, progress.tell, done, until)
            try:
                self.cut = not measuring.run() or self.cut
            finally:
                index.keep()

    def _keep(self, store: Store, cell: Cell, row: Record) -> None:
        """Write the row. Where that is impossible the campaign goes on: the next row may fit, and all are shown."""
        try:
            store.append(row)
            store.describe_machine(machine.hardware(), *machine.environment())
        except (OSError, ValueError, TypeError) as error:
            self.unkept += 1
            print(f"the row of {record.title(cell)} ({row['status']}) is not in {store.path}: {error}", file=sys.stderr)

    def exit(self) -> Exit:
        code = exit_code((row.record["status"] for row in self.rows), self.cut)
        return Exit.FAILED if self.unkept and code in (Exit.OK, Exit.CUT, Exit.NOTHING) else code

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
        if emulated := sum(row.record["emulated"] for row in new):
            parts.append(f"{emulated} on an emulated device, of which nothing is kept")
        if self.unkept:
            parts.append(f"{self.unkept} not kept")
        if self.cut:
            parts.append("cut by limit.wall_s: the same command goes on from here")
        return "; ".join(parts)


def wanted(latest: Record, changed: Sequence[str], rerun: str, roomier: bool = False) -> bool:
    """Should a cell that has a row be measured again? Each value of `rerun` also asks for what the one before it does: none,
    stale (its sources or software have changed, or its failure need not come again; `apart` is the same for one cell),
    failed, all. `roomier`: the limits in force are more generous than those that the row was measured under."""
    if rerun in ("all", "none"):
        return rerun == "all"
    failed = latest["status"] in UNSUCCESSFUL
    if latest["status"] == Status.UNAVAILABLE or latest["again"] or (failed and roomier):
        return True  # what was missing may have come, who ended it may be gone, what did not fit may fit
    return bool(changed) or (rerun == "failed" and failed)


def _roomier(latest: Record, config: Config) -> bool:
    """More time, or a quarter more memory (what is free is never quite the same)."""
    now, then = limits(config.isolate), latest["limits"]
    return bool(now["deadline_s"] > then["deadline_s"] or now["memory_bytes"] > 1.25 * then["memory_bytes"])


def _repeats(record: Record, latest: Record | None) -> bool:
    """Still unavailable for the same reason: not worth another row."""
    same = ("status", "why", "source")
    return record["status"] == Status.UNAVAILABLE and latest is not None and all(record[k] == latest[k] for k in same)
