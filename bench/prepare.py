"""Makes a cell ready to be timed, in a child process of its own: imported, compiled, run cold and verified."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench import machine, record
from bench.cell import Cell
from bench.config import Isolate, Measure
from bench.isolate import Child, limits
from bench.oracle import Oracle
from bench.store import Record
from bench.validate import processors

Tell = Callable[[Cell, str, float], None]  # what a cell is at, and how much of its measuring is done, for the progress bar


@dataclass
class Prepared:
    """A cell under way: its row as far as it is known, and its process."""

    cell: Cell
    row: Record
    child: Child
    minibatches: int = 0  # how many of the cell's mini-batches it is measured on; fewer than asked for if it is slow
    pass_s: float = 0.0  # seconds that running all of them once takes, as far as known


class Preparer:
    """`begin` starts a cell's process, `ready` brings it to where it can be timed.

    `cells` share their instances. `results` is the folder that the names of logs in the rows are relative to."""

    def __init__(self, cells: Sequence[Cell], measure: Measure, isolate: Isolate, results: Path, tell: Tell) -> None:
        self.cells = cells
        self.measure = measure
        self.isolate = isolate
        self.results = results
        self.tell = tell
        self.oracle = Oracle(cells[0], self._oracle_child)

    def begin(self, cell: Cell) -> tuple[Record, Child]:
        row = record.begin(cell)
        log = self._log(f"{cell.id}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
        row["log"] = str(log.relative_to(self.results))
        row["limits"] = limits(self.isolate)
        self.tell(cell, "starting", 0)
        return row, self._child(cell, log)

    def ready(self, prepared: Prepared) -> None:
        """Compile, run cold, verify every instance. Raises `Ended` where the cell ends here."""
        cell, child, row = prepared.cell, prepared.child, prepared.row
        parts = {
            "workload": {"target": cell.workload.target, "options": dict(cell.workload.options)},
            "backend": {"target": cell.backend.target, "options": dict(cell.backend.options)},
        }
        plain = {key: getattr(cell, key) for key in ("size", "batch_size", "threads", "device", "seed", "minibatches")}
        self.tell(cell, "compiling", 0)
        opened = child.ask("open", cell=parts | plain)
        row["cold"] = {key: round(opened[key], 6) for key in ("load_s", "compile_s", "place_s", "first_s")}
        run_s = opened["first_s"]
        if run_s * cell.minibatches > self.measure.pass_s:  # slow, or only slow at first?
            self.tell(cell, "running once more", 0)
            run_s = child.ask("probe")["run_s"]
        affordable = int(self.measure.pass_s / max(run_s, 1e-9))
        prepared.minibatches = min(cell.minibatches, max(2, affordable))
        if prepared.minibatches < cell.minibatches:
            row["flags"].append(f"only {prepared.minibatches} of {cell.minibatches} mini-batches, at {run_s:.3g} s each")
        files = self.oracle.files(prepared.minibatches, lambda text: self.tell(cell, text, 0))
        self.tell(cell, "checking", 0)
        checked = child.ask("check", oracle=files, minibatches=prepared.minibatches)
        row["verified"]["n"] = checked["n"]
        prepared.pass_s = checked["pass_s"]

    def close(self) -> None:
        """End the processes that nobody has begun with."""

    def _child(self, cell: Cell, log: Path, threads: int | None = None) -> Child:
        return Child(
            log,
            threads=threads or cell.threads,
            deadline_s=self.isolate.deadline_s,
            memory_bytes=int(limits(self.isolate)["memory_bytes"]),
            limit_data=cell.device == "cpu",  # a GPU driver reserves far more address space than it uses
            cpus=processors(self.isolate.cpus),
            env=cell.env,
        )

    def _oracle_child(self) -> Child:
        """Nothing is timed while it works, so it may use the whole machine."""
        cell = self.cells[0]
        return self._child(cell, self._log(f"oracle-{cell.workload.name}-{cell.size}"), len(os.sched_getaffinity(0)))

    def _log(self, name: str) -> Path:
        return self.results / machine.name() / "logs" / f"{name}.log"
