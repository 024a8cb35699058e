"""Measures the cells of a group: all the backends on the same instances, in turns.

Each cell is made ready in a child process of its own. Compiling and the first run are timed, so one cell does them after the
other. Verifying, warming up and the last checks are not, so as many cells do them at once as there are processors.

Between these come rounds. In each, every cell has one turn (bench/turns.py), in a random order, so that a slow drift of the
machine affects all of them. All cells take part in every round until the group ends, so their latencies and ratios are from the
same time. One run of a group is a session; its id is in every row, and only rows of one session are compared round by round.
"""

from __future__ import annotations

import os
import random
import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np

from bench import breakdown, energy, machine, peak, record, stats, turns
from bench.cell import Cell
from bench.closing import LastChecks
from bench.config import Isolate, Measure
from bench.devices import DEVICES
from bench.family import Used, adopting
from bench.isolate import Ended, verdict
from bench.monitor import Monitor, report
from bench.prepare import Preparer, Tell
from bench.running import Running
from bench.store import Record
from bench.validate import processors

Done = Callable[[Cell, Record], None]  # called with the row when a cell has ended


class CellGroup:
    """The cells on the same instances. `results`: the folder for logs, which rows name relative to it. `tell` and `done` are
    called on progress and at the end of each cell. `until`: the time of `monotonic` from which nothing new is begun."""

    def __init__(
        self,
        cells: Sequence[Cell],
        measure: Measure,
        isolate: Isolate,
        results: Path,
        tell: Tell,
        done: Done,
        until: float = float("inf"),
    ) -> None:
        self.cells = cells
        self.measure = measure
        self.preparer = Preparer(cells, measure, isolate, results, tell)
        self.tell = tell
        self.done = done
        self.until = until
        self.gpu = machine.Gpu.find() if any(not DEVICES[cell.device].processor for cell in cells) else None
        self.meter = energy.find(cells[0].device, self.gpu)
        self.monitor = Monitor(self.gpu)
        self.session = uuid.uuid4().hex[:12]
        self.live: list[Running] = []
        self.seen: set[str] = set()  # the ids of the cells that were begun
        self.ended: set[str] = set()  # the ids of those that have their rows
        self.last_checks = LastChecks(cells, measure, self.preparer.oracle, tell)
        self._telling = threading.Lock()
        self._interrupted = False  # from then on cells end because the harness ends them, which is no outcome of theirs
        self._processors = len(processors(isolate.cpus) or os.sched_getaffinity(0))

    def run(self) -> bool:
        """Measure all cells. False if the time of the campaign was up before all were begun."""
        with adopting():
            try:
                return self._run()
            except Exception as error:  # of what is done for all cells at once
                self._fail_all(error)
                return True
            finally:
                for running in self.live:
                    running.child.kill()
                self.preparer.close()

    def _run(self) -> bool:
        if monotonic() >= self.until:
            return False
        self.preparer.load()
        self._side_by_side(self._open, self.cells, self._processors if not self.measure.stored else 1)
        if len(self.seen) < len(self.cells):
            return False
        self._side_by_side(self._check, list(self.live), self._at_once())
        self._rounds()
        return True

    def _at_once(self) -> int:
        """How many cells can do at once what is not timed: as many as there are processors for. On a GPU it is one, because
        what each of several has used of it cannot be told."""
        cell = self.cells[0]
        return max(1, self._processors // cell.threads) if DEVICES[cell.device].processor else 1

    def _side_by_side(self, work: Callable[[Any], None], items: Sequence[Any], at_once: int) -> None:
        """Do `work` for every item, for `at_once` of them at a time."""
        if at_once == 1 or len(items) < 2:
            for item in items:
                work(item)
            return
        pool = ThreadPoolExecutor(at_once)
        try:
            for future in [pool.submit(work, item) for item in items]:
                future.result()
        except BaseException:
            self._interrupted = True
            pool.shutdown(wait=False, cancel_futures=True)
            for running in list(self.live):  # so that the threads of the pool do not wait for them
                running.child.kill()
            raise
        finally:
            pool.shutdown()

    def _open(self, cell: Cell) -> None:
        """Compile a cell and run it for the first time. A cell that cannot do that gets its row."""
        if monotonic() >= self.until:
            return
        self.seen.add(cell.id)
        try:
            running = Running(cell, *self.preparer.begin(cell))
        except Exception as error:  # a cell without a process gets a row too
            self._not_begun(cell, error)
            return
        running.row |= {"session": self.session, "measure_settings": self.measure.settings()}
        self.live.append(running)
        try:
            self.preparer.open(running)
            self._take_twin(running)
        except Exception as error:
            self._fail(running, error)

    def _check(self, running: Running) -> None:
        """Verify all instances of a cell and warm it up. A cell that is wrong gets its row."""
        try:
            self.preparer.check(running)
            self._warm(running)
        except Exception as error:
            self._fail(running, error)

    def _fail(self, running: Running, error: Exception) -> None:
        self.live.remove(running)
        self._end(running, verdict(error, running.child.log))

    def _fail_all(self, error: Exception) -> None:
        """Give each cell without a row the one that says that the harness has failed."""
        for running in list(self.live):
            self._fail(running, error)
        for cell in (each for each in self.cells if each.id not in self.ended):
            self._not_begun(cell, error)

    def _not_begun(self, cell: Cell, error: Exception) -> None:
        """The row of a cell for which no process could be started."""
        ended = verdict(error, None)
        self._done(cell, record.begin(cell) | {"status": ended.status, "why": ended.why, "again": ended.again})

    def _done(self, cell: Cell, row: Record) -> None:
        with self._telling:
            if not self._interrupted:
                self.ended.add(cell.id)
                self.done(cell, row)

    def _warm(self, running: Running) -> None:
        """Run passes that are not timed for `warm_s` seconds; none where a single one would take longer. In the first runs the
        instructions are observed, which takes up to two seconds."""
        self.tell(running.cell, "warming up", 0)
        end = monotonic() + self.measure.warm_s
        if self.measure.stored and DEVICES[running.cell.device].processor:
            running.instructions = running.child.ask("observe")["seen"]
        while monotonic() + running.pass_s < end:
            every = list(range(running.minibatches))
            reply = running.child.ask("turn", order=every, first=len(every), steady=0, timed=0)
            running.pass_s = sum(reply["samples_s"])
            running.verifier.check(reply["outputs"], "while warming up")

    def _rounds(self) -> None:
        """Run rounds until the group ends. A cell that fails gets its row, and the others go on without it."""
        self._probe()
        shuffle = random.Random(self.cells[0].seed)
        rule = turns.StopRule(self.measure, len(self.live))
        for running in self.live:
            running.told.began_s = running.child.usage.asked.get("turn", Used()).cost_s  # warming up asks for turns too
        started = monotonic()
        self.monitor.start(self._children())
        most = max((running.minibatches for running in self.live), default=0)
        number = 0
        stop = None
        while self.live and stop is None:
            order = turns.order(self.cells[0].seed, number, most)
            for running in shuffle.sample(self.live, len(self.live)):
                try:
                    self._turn(running, number, order)
                except Exception as error:
                    self._fail(running, error)
                    self.monitor.start(self._children())
            number += 1
            spent_s = monotonic() - started
            rounds = {running.cell.id: stats.rounds_of(running.row) for running in self.live}
            stop = rule.look(rounds, number, spent_s, late=monotonic() >= self.until)
            for running in self.live:
                self.tell(running.cell, _text(rule.summaries[running.cell.id]), rule.share_done(number, spent_s))
        for running in self.live:
            running.row["stop"] = stop
        self._side_by_side(self._finish, list(self.live), self._at_once())

    def _finish(self, running: Running) -> None:
        try:
            ended = self.last_checks.close(running)
        except Exception as error:
            ended = verdict(error, running.child.log)
        self.live.remove(running)
        self._end(running, ended)

    def _probe(self) -> None:
        """Measure the peak of the processor, with the cells' number of threads, just before the rounds."""
        cell = self.cells[0]
        if self.live and DEVICES[cell.device].processor and self.measure.stored:
            measured_peak = peak.measure(cell.threads)
            for running in self.live:
                running.row["peak"] = measured_peak

    def _turn(self, running: Running, number: int, order: Sequence[int]) -> None:
        """A turn of one cell in round `number`."""
        turn = turns.plan(running.pass_s / running.minibatches, running.minibatches, self.measure)
        ran = [minibatch for minibatch in order if minibatch < running.minibatches][: turn.runs]
        sleep(max(0.0, running.idle_since + turns.PAUSE_S - monotonic()))
        before = self.meter.joules() if self.meter else None
        reply = running.child.ask("turn", order=ran, first=turn.first, steady=turn.steady, timed=turn.timed)
        running.idle_since = monotonic()
        after = self.meter.joules() if self.meter and before is not None else None
        runs = turn.first + turn.steady * turn.runs
        if before is not None and after is not None:
            running.joules = (running.joules or 0.0) + after - before
            running.instances += runs * running.cell.batch_size
        self.monitor.round(running.cell.id, self._children())
        turns.keep(running.row, number, ran, turn.first, reply)
        running.told.add(reply, runs)
        running.pass_s = sum(reply["samples_s"][-turn.runs :]) / turn.runs * running.minibatches
        running.counters += zip(dict.fromkeys(ran), reply["counters"], strict=True)
        running.verifier.check(reply["outputs"], "as timed")

    def _take_twin(self, running: Running) -> None:
        """End a cell whose program an open variant of its backend has too: that variant's row will be this cell's as well."""
        with self._telling:
            for other in self.live:
                same_program = other.identity is not None and other.identity == running.identity
                if other is not running and same_program and other.cell.backend.name == running.cell.backend.name:
                    self.live.remove(running)
                    other.twins.append(running)
                    running.child.kill()
                    return

    def _end(self, running: Running, ended: Ended) -> None:
        """End the cell's process and complete its row, and those of its twins, whatever the outcome is."""
        running.child.kill()
        row = running.row
        try:
            self._complete(running)
        except Exception as error:
            ended = verdict(error, running.child.log)
        row["status"], row["why"], row["again"] = ended.status, ended.why, ended.again
        self._done(running.cell, row)
        for twin in running.twins:
            own = {key: twin.row[key] for key in (*twin.cell.canonical(), "id", "source", "cold", "log", "limits", "started")}
            self._done(twin.cell, row | own | {"same_as": running.cell.id})

    def _complete(self, running: Running) -> None:
        """Add to a cell's row what is made of all its turns: counters, energy and what else the machine did."""
        row = running.row
        counters, flags = breakdown.limited(breakdown.over_minibatches(running.counters))
        row["flags"] += flags
        if row["memory"] and isinstance(counters.get("arena_bytes"), int | float):
            row["memory"]["arena_bytes"] = int(counters["arena_bytes"])
        row["breakdown"], row["counters"] = breakdown.split(counters)
        row["flags"] += breakdown.flags(counters)
        row["energy_j"] = None if running.joules is None else round(running.joules, 3)
        row["energy_instances"] = running.instances or None
        row["clocks"], flags = report(self.monitor.windows.get(running.cell.id, []))
        row["flags"] += flags

    def _children(self) -> list[int]:
        return [running.child.process.pid for running in self.live]


def _text(summary: stats.Summary) -> str:
    width = f" ± {summary.relative_half_width:.1%}" if np.isfinite(summary.low) else ""
    return f"{summary.median * 1e3:.4g} ms{width}, {summary.rounds} rounds"
