"""Measures the cells of a group: all the backends on the same instances, in turns.

Each cell is made ready in a child process of its own, one after the other: imported, compiled, run cold, verified, warmed.
Then the children are asked for rounds in a random order, so that a machine that drifts drifts for all. A round runs every
mini-batch once, in an order that is the same for all cells and different every time. Each cell goes on until its own stop
rule ends it, so a slow one does not set the number of samples of a fast one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from bench import breakdown, machine, stats
from bench.cell import Cell
from bench.config import Isolate, Measure
from bench.isolate import Ended, verdict
from bench.monitor import Monitor, report
from bench.prepare import Prepared, Preparer, Tell
from bench.status import Status
from bench.store import Record

SETTLE_S = 0.2  # below this a run is repeated untimed at the start of a round; above, cold caches do not show

Done = Callable[[Cell, Record], None]  # a cell has ended: keep its row


@dataclass
class Running(Prepared):
    """A cell being timed."""

    spent_s: float = 0.0
    rounds: int = 0
    groups: dict[int, list[float]] = field(default_factory=dict)
    counters: list[dict[str, Any]] = field(default_factory=list)
    joules: float | None = None
    looked_at: int = 0  # samples when the interval was last computed
    summary: stats.Summary | None = None

    def add(self, order: Sequence[int], reply: dict[str, Any]) -> None:
        for minibatch, seconds in zip(order, reply["samples_s"], strict=True):
            self.row["samples_s"].append(round(seconds, 9))
            self.row["sample_minibatch"].append(minibatch)
            self.row["sample_round"].append(self.rounds)
            self.groups.setdefault(minibatch, []).append(seconds)
        self.counters.append(reply["counters"])
        self.rounds += 1


class Group:
    """The cells that share their instances. `logs`: a folder of which the rows name files relative to `results`."""

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
        self.gpu = machine.Gpu.find() if any(cell.device == "cuda" for cell in cells) else None
        self.monitor = Monitor(self.gpu)
        self.live: list[Running] = []

    def run(self) -> bool:
        """Measure all. False if the time of the campaign was up before."""
        try:
            for cell in self.cells:
                if monotonic() >= self.until:
                    return False
                self._prepare(cell)
            self._rounds()
            return True
        finally:
            self.preparer.close()
            for running in self.live:
                running.child.kill()

    def _prepare(self, cell: Cell) -> None:
        running = Running(cell, *self.preparer.begin(cell))
        self.live.append(running)
        try:
            self.preparer.ready(running)
            self._warm(running)
        except Exception as error:
            self.live.remove(running)
            self._end(running, verdict(error, running.child.log))

    def _warm(self, running: Running) -> None:
        self.tell(running.cell, "warming up", 0)
        end = monotonic() + self.measure.warm_s
        while monotonic() + running.pass_s < end:
            reply = running.child.ask("round", order=list(range(running.minibatches)), settle=False)
            running.pass_s = sum(reply["samples_s"])
            if "status" in reply:
                raise Ended(Status(reply["status"]), reply["why"])

    def _rounds(self) -> None:
        shuffle = random.Random(self.cells[0].seed)
        self.monitor.start(self._children())
        while self.live:
            for running in shuffle.sample(self.live, len(self.live)):
                try:
                    stop = self._round(running)
                    if stop is None:
                        continue
                    running.row["stop"] = stop
                    ended = self._close(running)
                except Exception as error:
                    ended = verdict(error, running.child.log)
                self._end(running, ended)
                self.live.remove(running)
                self.monitor.start(self._children())

    def _round(self, running: Running) -> str | None:
        """One round. The reason to stop, if there is one now."""
        order = list(range(running.minibatches))
        random.Random(f"{running.cell.seed}/{running.rounds}").shuffle(order)
        before = self.gpu.joules() if self.gpu else None
        start = monotonic()
        reply = running.child.ask("round", order=order, settle=running.pass_s / running.minibatches < SETTLE_S)
        running.spent_s += monotonic() - start
        if self.gpu and before is not None:
            running.joules = (running.joules or 0.0) + (self.gpu.joules() or before) - before
        self.monitor.round(running.cell.id, self._children())
        running.add(order, reply)
        if "status" in reply:
            raise Ended(Status(reply["status"]), reply["why"])
        self._summarise(running)
        self.tell(running.cell, _text(running.summary), share_done(running, self.measure))
        return stop_reason(running, self.measure, late=monotonic() >= self.until)

    def _summarise(self, running: Running) -> None:
        """The interval costs milliseconds: look again when there are a tenth more samples."""
        count = len(running.row["samples_s"])
        if running.rounds >= self.measure.min_rounds and count >= 1.1 * running.looked_at:
            running.looked_at = count
            running.summary = stats.summary([np.array(g) for g in running.groups.values()], resamples=300)

    def _close(self, running: Running) -> Ended:
        child, row = running.child, running.row
        if self.measure.profile:
            child.ask("profile", path=str(child.log.with_suffix(".profile.txt")))
        closed = child.ask("close")
        row["verified"] |= closed["verified"]
        row["memory"] = {"peak_rss_bytes": closed["peak_rss_bytes"]}
        return Ended(Status.OK, None)

    def _end(self, running: Running, ended: Ended) -> None:
        """Whatever the outcome, a row."""
        running.child.kill()
        row = running.row
        row["status"], row["why"] = ended.status, ended.why
        row["breakdown"], row["counters"] = breakdown.split(breakdown.merge(running.counters))
        row["energy_j"] = None if running.joules is None else round(running.joules, 3)
        row["clocks"], flags = report(self.monitor.windows.get(running.cell.id, []))
        row["flags"] += flags
        self.done(running.cell, row)

    def _children(self) -> list[int]:
        return [running.child.process.pid for running in self.live]


def stop_reason(running: Running, measure: Measure, late: bool) -> str | None:
    """Why a cell has enough samples: `interval` (narrow enough), `samples` (as many as allowed), `budget` (its time is
    spent), `limit` (the campaign's is). None: go on."""
    if running.rounds < measure.min_rounds:
        return None
    count = len(running.row["samples_s"])
    narrow = running.summary is not None and running.summary.relative_half_width <= measure.relative_ci
    if count >= measure.min_samples and narrow:
        return "interval"
    if count >= measure.max_samples:
        return "samples"
    if running.spent_s >= measure.budget_s:
        return "budget"
    return "limit" if late else None


def share_done(running: Running, measure: Measure) -> float:
    """How near the stop rule is, from 0 to 1."""
    count = len(running.row["samples_s"])
    width = running.summary.relative_half_width if running.summary else float("inf")
    # The interval narrows with the square root of the samples.
    narrow = min(count / measure.min_samples, (measure.relative_ci / width) ** 2 if width > 0 else 1.0)
    return min(1.0, max(narrow, count / measure.max_samples, running.spent_s / measure.budget_s))


def _text(summary: stats.Summary | None) -> str:
    if summary is None:
        return "measuring"
    width = f" ± {summary.relative_half_width:.1%}" if np.isfinite(summary.low) else ""
    return f"{summary.median * 1e3:.4g} ms{width}, {summary.samples} samples"
