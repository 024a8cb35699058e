"""Tuning of a program's kernels (paper: auto-scheduling, with profile-guided optimization).

With a profile, each kernel is measured at the numbers of rows that its launches had, and trials go where time goes. Without
one, every kernel is measured at one number of rows, and what is best there serves all; trials then go where the program's loops
and recursions say that time goes (static weights), or evenly to all kernels.

A search starts from the default schedules, which were found by measuring on other machines, so that it finds little; or from
the templates' plain loops, in an order without meaning, as the paper's auto-scheduler does: that shows what tuning is worth.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from backends.acrobat.kernels.cpu.emit import symbol
from backends.acrobat.kernels.cpu.schedule import KernelSchedule, grid
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.interface import Request, Schedules
from backends.acrobat.tuning.cache import Measurements, path_for
from backends.acrobat.tuning.measure import Bench
from backends.acrobat.tuning.search import Task, Timing, extents, search

ESTIMATE = 64
"""The batch extent where nothing is known (the paper's)."""


@dataclass(frozen=True)
class Guide:
    """How often each kernel, named by its symbol with the default schedule, has launches of how many rows: as a profile has it,
    as static weights have it, or, with neither, the same for all. `weighs` says whether trials go where time goes."""

    known: Mapping[str, Mapping[int, float]] | None = None

    @property
    def weighs(self) -> bool:
        return self.known is not None

    def launches(self, symbol: str) -> Mapping[int, float]:
        """None at all for a kernel that did not run."""
        return {ESTIMATE: 1.0} if self.known is None else self.known.get(symbol, {})

    @staticmethod
    def static(runs: Mapping[str, float]) -> Guide:
        """From how often one instance is expected to run each kernel."""
        return Guide({symbol: {ESTIMATE: often} for symbol, often in runs.items()})


class Runs(Protocol):
    """One kernel with operands for several numbers of rows, on the device."""

    def baseline(self) -> Mapping[int, float]:
        """Seconds of one call with the default schedule, by rows."""
        ...

    def measure(self, schedule: Any) -> Mapping[int, Timing]:
        """A schedule against the default one, by rows. Raises ScheduleWrong."""
        ...


class Measured:
    """Costs as measured here, or as kept from an earlier time. A device overrides the last two methods."""

    def __init__(self, requests: Sequence[Request], tasks: Sequence[Task], target: Any, folder: Path) -> None:
        self.requests = requests
        self.tasks = tasks
        self.target = target
        self.folder = folder
        self.kept: dict[int, Measurements] = {}
        self.benches: dict[int, Runs] = {}

    def baseline(self, task: int) -> Mapping[int, float]:
        known, wanted = self._known(task), self.tasks[task].extents.keys()
        if not wanted <= known.baseline.keys():
            known.baseline |= self._bench(task).baseline()
            known.write()
        return known.baseline

    def measure(self, task: int, schedule: Any) -> Mapping[int, Timing]:
        known, wanted = self._known(task), self.tasks[task].extents.keys()
        found = known.timings.setdefault(schedule, {})
        if not wanted <= found.keys():
            found |= self._bench(task).measure(schedule)
            known.write()
        return found

    def _known(self, task: int) -> Measurements:
        if task not in self.kept:
            self.kept[task] = self.measurements(self.requests[task], self.tasks[task])
        return self.kept[task]

    def _bench(self, task: int) -> Runs:
        if task not in self.benches:
            self.benches = {task: self.bench(self.requests[task], self.tasks[task])}  # the one before gives its memory back
        return self.benches[task]

    def measurements(self, request: Request, task: Task) -> Measurements:
        """What is kept of a kernel."""
        return Measurements(path_for(self.folder, request.kernel, request.out_mode, self.target, task.default))

    def bench(self, request: Request, task: Task) -> Runs:
        return Bench(request.kernel, request.out_mode, self.target, tuple(task.extents), task.default)


def tune(
    requests: Sequence[Request],
    target: CpuTarget,
    trials: int,
    guide: Guide,
    threads: int,
    folder: Path,
    untuned: bool = False,
) -> dict[Request, Schedules]:
    """The schedules of those kernels for which another than the default one is taken, with at most `trials` measured; with
    `untuned` the search starts from plain loops. `folder` keeps measurements. Raises ScheduleWrong."""
    chosen, tasks = [], []
    for request in requests:
        launches = guide.launches(symbol(request.kernel, request.out_mode, target))
        usual = KernelSchedule.default(request.kernel, target)
        seen = extents(launches) if launches else {}
        candidates = grid(request.kernel, target, seen, threads) if seen else []
        if untuned and (start := KernelSchedule.untuned(request.kernel, target)) != usual:
            candidates = unordered([usual, *(s for s in candidates if s != start)], request) if seen else []
            usual = start
        elif not candidates:
            continue
        chosen.append(request)
        tasks.append(Task(seen, usual, candidates))
    found = search(tasks, trials, Measured(chosen, tasks, target, folder), guide.weighs)
    return {
        request: schedules
        for request, schedules in zip(chosen, found, strict=True)
        if schedules != ((0, KernelSchedule.default(request.kernel, target)),)
    }


def unordered(schedules: Sequence[KernelSchedule], request: Request) -> list[KernelSchedule]:
    """The schedules in an order without meaning, always the same for one kernel."""
    return random.Random(request.kernel.name).sample(schedules, len(schedules))
