"""What one process measures: the cells of a single command, or of all jobs of a sweep. Finished cells are skipped."""

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
from bench.measure import CellGroup
from bench.memory import limits
from bench.options import ConfigError
from bench.progress import Progress
from bench.software import changes, software
from bench.status import UNSUCCESSFUL, Exit, Status, exit_code
from bench.store import Record, Store

CHANGED = "{}: another program has changed it while this one measured, so rows in it may be of nobody's measuring"


@dataclass
class Row:
    """A cell with its record. `earlier`: it was in the store, not measured now. `changed`: what has changed since then."""

    cell: Cell
    record: Record
    earlier: bool = False
    changed: Sequence[str] = ()

    @property
    def stale(self) -> bool:
        return bool(self.changed)


@dataclass
class Campaign:
    """Measures configurations one after the other. `rows` has the rows of all, `cut` whether the time limit ended it."""

    started: float = field(default_factory=monotonic)
    rows: list[Row] = field(default_factory=list)
    cut: bool = False
    unkept: int = 0  # rows that could not be written to the store

    def run(self, config: Config) -> list[Row]:
        """Measure the unfinished cells of a configuration and return the rows of all its cells, in their order; after an
        interruption `self.rows` has those so far. Raises ConfigError if rows cannot be stored, or the lock is refused."""
        group = cells(config)
        store = Store(Path(config.results_dir).resolve(), machine.name())
        if config.measure.stored:
            open_store(store, config.results_dir)
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
            finished = [rows[cell.id] for cell in group if cell.id in rows]
            self.rows += finished
        return finished

    def _sort(self, group: Sequence[Cell], store: Store, config: Config) -> tuple[dict[str, Row], list[Cell]]:
        """The stored rows that need not be measured again, by cell id, and the cells to measure."""
        rows: dict[str, Row] = {}
        latest_rows: dict[str, Record] = {}
        todo = []
        settings = config.measure.settings()
        past = {c.id: store.history(c.id) if config.measure.stored else [] for c in group}
        usable = {i: [row for row in rows if record.whole(row) and sessions.usable(row, settings)] for i, rows in past.items()}
        chosen = sessions.together(usable)
        for cell in group:
            latest = chosen.get(cell.id)
            if latest is None:
                todo.append(cell)
                continue
            latest_rows[cell.id] = latest
            changed = (["sources"] if latest["source"] != cell.source else []) + changes(latest["software"], software(cell))
            if not to_be_measured(latest, changed, config.rerun, _roomier(latest, config)):
                rows[cell.id] = Row(cell, latest, earlier=True, changed=changed)
                continue
            todo.append(cell)
            if changed:
                print(f"stale: {record.title(cell)}: {', '.join(changed)}", file=sys.stderr)
        standing = {cell_id: row.record for cell_id, row in rows.items()}
        again = sessions.rivals(standing, [cell.id for cell in todo], latest_rows, config.rerun)
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
                    support.learn(index, cell, row["status"], row["why"], row["again"])
                if config.measure.stored and not row["emulated"] and not _repeats(row, store.latest(cell.id)):
                    self.unkept += not keep(store, cell, row)

            order = random.Random(config.seed).sample(todo, len(todo))
            if config.measure.stored:
                store.watch()
            measuring = CellGroup(order, config.measure, config.isolate, store.results, progress.tell, done, until)
            try:
                self.cut = not measuring.run() or self.cut
            finally:
                index.keep()
                if config.measure.stored and store.was_changed():
                    print(CHANGED.format(store.path), file=sys.stderr)

    def exit(self) -> Exit:
        code = exit_code((row.record["status"] for row in self.rows), self.cut)
        return Exit.FAILED if self.unkept and code in (Exit.OK, Exit.CUT, Exit.NOTHING) else code

    def summary(self) -> str:
        """The last line of an invocation: how many cells were measured, failed, had finished earlier, or are not kept."""
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


def keep(store: Store, cell: Cell, row: Record) -> bool:
    """Append the row to the store. If that fails the reason is printed and the result is False, and the campaign goes on: the
    next row may fit, and the table shows all."""
    kept = True
    try:
        store.append(row)
    except (OSError, ValueError, TypeError) as error:
        kept = False
        print(f"the row of {record.title(cell)} ({row['status']}) is not in {store.path}: {error}", file=sys.stderr)
    try:
        store.describe_machine(machine.hardware(), *machine.environment())
    except (OSError, ValueError, TypeError) as error:
        print(f"{store.path.with_name('machine.json')} does not describe this machine: {error}", file=sys.stderr)
    return kept


def open_store(store: Store, given: object) -> None:
    """Raises ConfigError where rows cannot be stored. `given`: the folder of the results, as the user has named it."""
    try:
        store.open()
    except OSError as error:
        raise ConfigError(f"results_dir={given}: rows cannot be kept there: {error}") from error


def to_be_measured(latest: Record, changed: Sequence[str], rerun: str, roomier: bool = False) -> bool:
    """Whether a cell with the row `latest` is to be measured again. Each value of `rerun` includes the ones before it: "none";
    "stale" (`changed` is not empty, or the cause of the outcome may be gone); "failed"; "all". "apart" is "stale" here and
    differs in `sessions.rivals`. `roomier`: the limits now are more generous than those that the row was measured under."""
    if rerun in ("all", "none"):
        return rerun == "all"
    failed = latest["status"] in UNSUCCESSFUL
    if latest["status"] == Status.UNAVAILABLE or latest["again"] or (failed and roomier):
        return True  # a package may be installed by now, whoever ended the process is gone, or there is room enough
    return bool(changed) or (rerun == "failed" and failed)


def _roomier(latest: Record, config: Config) -> bool:
    """Whether there is more time, or over a quarter more memory, than the row had (the free memory is never quite the same)."""
    now, then = limits(config.isolate), latest["limits"]
    return bool(now["deadline_s"] > then["deadline_s"] or now["memory_bytes"] > 1.25 * then["memory_bytes"])


def _repeats(record: Record, latest: Record | None) -> bool:
    """Whether the cell is still unavailable, for the same reason as in its latest row: that is not worth another row."""
    compared = ("status", "why", "source")
    return record["status"] == Status.UNAVAILABLE and latest is not None and all(record[k] == latest[k] for k in compared)
