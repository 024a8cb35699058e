"""Makes cells ready to be timed, each in a child process of its own: imported, compiled, run cold and verified."""

from __future__ import annotations

import json
import os
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench import machine, placing, record
from bench.cell import Cell
from bench.config import Isolate, Measure
from bench.devices import DEVICES
from bench.isolate import Child, Ended, environment
from bench.memory import limits, too_little
from bench.oracle import Oracle
from bench.status import Status
from bench.store import Record
from bench.template import Template
from bench.validate import processors
from bench.verifier import Verifier

EMULATED = "the processor emulates the device: no time here is one of a device, and the row is not kept"

Tell = Callable[[Cell, str, float], None]  # for the progress bar: what a cell is doing, and what share of measuring it is done


@dataclass
class Prepared:
    """A cell that is being measured: its row as far as it is known, and its process."""

    cell: Cell
    row: Record
    child: Child
    verifier: Verifier
    minibatches: int = 0  # how many of the cell's mini-batches it is measured on; fewer than asked for if it is slow
    pass_s: float = 0.0  # seconds that running all of them once takes, as far as known
    identity: str | None = None  # of its compiled model: equal for cells that run the same program
    draw_s: float = 0.0  # seconds in which its process made the instances of one mini-batch, before it compiled the model


@dataclass
class Begun:
    """A cell whose process is loading, or has loaded, what it needs. `error`: why that failed. `shared_s`: the seconds that its
    template took to load what all cells need."""

    row: Record
    child: Child | None = None
    error: Exception | None = None
    shared_s: float = 0.0

    def wait(self) -> None:
        if self.child is None or self.error is not None:
            return
        try:
            reply = self.child.receive()
            self.row["cold"]["load_s"] = round(self.shared_s + reply["load_s"], 6)
            if reply["emulated"]:
                self.row["emulated"] = True
                self.row["flags"].append(EMULATED)
        except Exception as error:
            self.error = error


class Preparer:
    """Prepares `cells`, which share their instances: `load` starts their processes, `begin` hands one out, `open` compiles it
    and runs it for the first time, `check` verifies it. `results`: the folder that the names of logs are relative to."""

    def __init__(self, cells: Sequence[Cell], measure: Measure, isolate: Isolate, results: Path, tell: Tell) -> None:
        self.cells = cells
        self.measure = measure
        self.isolate = isolate
        self.results = results
        self.tell = tell
        self._begun: dict[str, Begun] = {}
        self._templates: dict[str, Template] = {}  # by environment
        self._processors = len(os.sched_getaffinity(0))
        self.oracle = Oracle(cells[0], self._oracle_child, self._processors)

    def load(self) -> None:
        """Start the processes of all cells and have them import, as many at once as there are processors: importing takes long,
        and nothing else is timed meanwhile. The oracle's answers are taken off the disk first."""
        self.oracle.take()
        for cell in self.cells:
            self._template(cell)  # the template imports while the rows are begun
        for cell in self.cells:
            self._begun[cell.id] = Begun(record.begin(cell))
        loading: deque[Begun] = deque()
        for cell in self.cells:
            if len(loading) == self._processors:
                loading.popleft().wait()
            begun = self._begun[cell.id]
            self.tell(cell, "starting", 0)
            try:
                self._start(cell, begun)
            except Exception as error:
                begun.error = error
            loading.append(begun)
        for begun in loading:
            begun.wait()

    def begin(self, cell: Cell) -> tuple[Record, Child, Verifier]:
        """The row, the process and the verifier of `cell`. Raises the error of a process that could not be started."""
        begun = self._begun[cell.id]
        if begun.error is not None and begun.child is None:
            raise begun.error
        assert begun.child is not None
        return begun.row, begun.child, Verifier(begun.child.outputs, cell.precision)

    def _start(self, cell: Cell, begun: Begun) -> None:
        _ensure_memory()
        log = self._log(f"{cell.id}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
        begun.row["log"] = str(log.relative_to(self.results)) if log.is_relative_to(self.results) else str(log)
        begun.row["limits"] = limits(self.isolate)
        begun.child = self._child(cell, log)
        begun.shared_s = begun.child.shared_s
        parts = {
            "workload": {"target": cell.workload.target, "options": dict(cell.workload.options)},
            "backend": {"target": cell.backend.target, "options": dict(cell.backend.options)},
        }
        plain = {key: getattr(cell, key) for key in ("size", "batch_size", "threads", "device", "seed", "minibatches")}
        begun.child.send("load", cell=parts | plain)

    def open(self, prepared: Prepared) -> None:
        """Compile the cell and run it cold. Raises `Ended`, or the error of loading its process."""
        cell, child, row = prepared.cell, prepared.child, prepared.row
        error = self._begun[cell.id].error
        if error is not None:
            raise error
        _ensure_memory()
        child.limit_memory(int(limits(self.isolate)["memory_bytes"]))  # less is free now that other cells are ready
        row["limits"]["memory_bytes"] = child.memory_bytes
        self.tell(cell, "compiling", 0)
        opened = child.ask("open")
        prepared.identity, prepared.draw_s = opened["identity"], opened["draw_s"]
        row["cold"] |= {key: round(opened[key], 6) for key in ("compile_s", "place_s", "first_s")}
        row["flags"] += placing.judge(opened)
        run_s = opened["first_s"]
        if run_s * cell.minibatches > self.measure.pass_s:  # slow, or only slow at first?
            self.tell(cell, "running once more", 0)
            run_s = child.ask("probe")["run_s"]
        affordable = int(self.measure.pass_s / max(run_s, 1e-9))
        prepared.minibatches = min(cell.minibatches, max(2, affordable))
        if prepared.minibatches < cell.minibatches:
            row["flags"].append(f"only {prepared.minibatches} of {cell.minibatches} mini-batches, at {run_s:.3g} s each")

    def check(self, prepared: Prepared) -> None:
        """Verify every instance of a cell that is open. Raises `Ended`."""
        cell, child, row = prepared.cell, prepared.child, prepared.row
        for i, answers in enumerate(self.oracle.answers(prepared.minibatches, lambda text: self.tell(cell, text, 0))):
            prepared.verifier.expect(i, answers)
        self.tell(cell, "checking", 0)
        checked = child.ask("check", minibatches=prepared.minibatches)
        row["verified"]["n"] = prepared.verifier.check(checked["outputs"], "before timing")
        prepared.pass_s = checked["pass_s"]

    def close(self) -> None:
        """End all processes, and then write the oracle's answers to disk again."""
        for begun in self._begun.values():
            if begun.child is not None:
                begun.child.kill()
        for template in self._templates.values():
            template.close()
            Child.living.discard(template.process.pid)
        self._templates.clear()
        self.oracle.give_back()

    def _template(self, cell: Cell) -> Template:
        """The process from which the processes of all cells with the environment of `cell` are forked, started on first use."""
        variables = environment(cell.threads, cell.env)
        key = json.dumps(variables, sort_keys=True)
        if key not in self._templates:
            workload = {"target": cell.workload.target, "options": dict(cell.workload.options)}
            with Child.changing:
                self._templates[key] = Template(variables, workload)
                Child.living.add(self._templates[key].process.pid)
        return self._templates[key]

    def _child(self, cell: Cell, log: Path) -> Child:
        return Child(
            log,
            threads=cell.threads,
            deadline_s=self.isolate.deadline_s,
            memory_bytes=int(limits(self.isolate)["memory_bytes"]),
            limit_data=DEVICES[cell.device].processor,  # a GPU driver reserves far more address space than it uses
            cpus=processors(self.isolate.cpus),
            env=cell.env,
            template=self._template(cell),
        )

    def _oracle_child(self) -> Child:
        """A child for the oracle. As many work at once as there are processors: nothing that is stored is timed meanwhile."""
        cell = self.cells[0]
        return self._child(cell, self._log(f"oracle-{cell.workload.name}-{cell.size}"))

    def _log(self, name: str) -> Path:
        """The path of a log: in the results, or in a temporary folder where the results cannot be written to, as is possible in
        a run that stores no rows."""
        folder = self.results / machine.name() / "logs"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder / f"{name}.log"
        except OSError:
            return Path(tempfile.mkdtemp(prefix="acrobat-bench-log-")) / f"{name}.log"


def _ensure_memory() -> None:
    """Raises `Ended` where a cell would only fail for want of memory, which says nothing about its backend."""
    reason = too_little()
    if reason is not None:
        raise Ended(Status.UNAVAILABLE, reason, again=True)
