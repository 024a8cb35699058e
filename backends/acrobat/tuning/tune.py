"""Tuning of a program's kernels on the processor (paper: auto-scheduling, with profile-guided optimization).

With a profile, each kernel is measured at the numbers of rows that its launches had, and trials are distributed by the kernels'
shares of the time. Without one, each kernel is measured at one number of rows, and the best schedule there serves all; trials
are then distributed by how often loops and recursions run each kernel (static weights, `analyses/importance.py`), or evenly.

The search starts from the default schedules. These were found by measuring on other machines, so it finds little. With
`untuned` it starts from the templates' plain loops and tries candidates in an arbitrary order, as the paper's auto-scheduler
does: that shows what tuning is worth.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from backends.acrobat.core.units import Kernel
from backends.acrobat.kernels.cpu.emit import symbol
from backends.acrobat.kernels.cpu.schedule import KernelSchedule, grid
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.interface import Request, Schedules, flops
from backends.acrobat.tuning.cache import Measurements, path_for
from backends.acrobat.tuning.measure import Bench
from backends.acrobat.tuning.search import LARGEST_EXTENT, Task, Timing, extents, search

ESTIMATE = 64
"""The number of rows to tune for where nothing is known (the paper's)."""
LONGEST_CALL = 1e9
"""A measured call computes about so many floating-point operations at most, some ten milliseconds of one core. Where one row is
a whole sentence's matrix (BERxiT), a call with 128 rows takes a second, and tuning took an hour that shows nothing more."""


def largest_extent(kernel: Kernel) -> int:
    """The largest number of rows to measure a kernel at; from there on, time is proportional to rows."""
    return max(1, min(LARGEST_EXTENT, int(LONGEST_CALL // max(1, flops(kernel)))))


@dataclass(frozen=True)
class Guide:
    """What tuning knows of launches. `known`: kernel (its symbol with the default schedule) -> number of rows -> number of
    launches, from a profile or from static weights; None if neither is given."""

    known: Mapping[str, Mapping[int, float]] | None = None

    @property
    def weighs(self) -> bool:
        """Whether trials are distributed by the kernels' shares of the time, and not evenly."""
        return self.known is not None

    def launches(self, symbol: str) -> Mapping[int, float]:
        """Number of rows -> number of launches of a kernel; empty for a kernel that did not run."""
        return {ESTIMATE: 1.0} if self.known is None else self.known.get(symbol, {})

    @staticmethod
    def static(runs: Mapping[str, float]) -> Guide:
        """A guide from static weights: symbol of a kernel -> how often one instance is expected to run it."""
        return Guide({symbol: {ESTIMATE: often} for symbol, often in runs.items()})


class Runs(Protocol):
    """Runs one kernel on the device, with operands for several numbers of rows."""

    def baseline(self) -> Mapping[int, float]:
        """Seconds of one call with the default schedule, by rows."""
        ...

    def measure(self, schedule: Any) -> Mapping[int, Timing]:
        """A schedule against the default one, by rows. Raises ScheduleWrong."""
        ...


class MeasuredCosts:
    """Costs as measured now, or earlier and kept in `folder`. A device overrides the last two methods."""

    def __init__(self, requests: Sequence[Request], tasks: Sequence[Task], target: Any, folder: Path) -> None:
        self.requests = requests
        self.tasks = tasks
        self.target = target
        self.folder = folder
        self.kept: dict[int, Measurements] = {}
        self.benches: dict[int, Runs] = {}

    def baseline(self, task: int) -> Mapping[int, float]:
        measurements, extents = self._measurements_of(task), self.tasks[task].extents.keys()
        if not extents <= measurements.baseline.keys():
            measurements.baseline |= self._bench(task).baseline()
            measurements.write()
        return measurements.baseline

    def measure(self, task: int, schedule: Any) -> Mapping[int, Timing]:
        measurements, extents = self._measurements_of(task), self.tasks[task].extents.keys()
        timings = measurements.timings.setdefault(schedule, {})
        if not extents <= timings.keys():
            timings |= self._bench(task).measure(schedule)
            measurements.write()
        return timings

    def _measurements_of(self, task: int) -> Measurements:
        if task not in self.kept:
            self.kept[task] = self.measurements(self.requests[task], self.tasks[task])
        return self.kept[task]

    def _bench(self, task: int) -> Runs:
        if task not in self.benches:
            self.benches = {task: self.bench(self.requests[task], self.tasks[task])}  # only one: it holds much memory
        return self.benches[task]

    def measurements(self, request: Request, task: Task) -> Measurements:
        """The kept measurements of a kernel."""
        return Measurements(path_for(self.folder, request.kernel, request.out_mode, self.target, task.default))

    def bench(self, request: Request, task: Task) -> Runs:
        """The kernel, ready to be measured at the task's numbers of rows."""
        return Bench(request.kernel, request.out_mode, self.target, tuple(task.extents), task.default)


def tune(
    requests: Sequence[Request], target: CpuTarget, trials: int, guide: Guide, threads: int, folder: Path, untuned: bool = False
) -> dict[Request, Schedules]:
    """The schedules of those kernels for which tuning takes others than the default one; at most `trials` candidates are
    measured. With `untuned` the search starts from plain loops. `threads`: the number that will run the kernels. `folder` keeps
    measurements. Raises ScheduleWrong."""
    chosen, tasks = [], []
    for request in requests:
        launches = guide.launches(symbol(request.kernel, request.out_mode, target))
        default = KernelSchedule.default(request.kernel, target)
        frequencies = extents(launches, largest_extent(request.kernel)) if launches else {}
        candidates = grid(request.kernel, target, frequencies, threads) if frequencies else []
        if untuned and (start := KernelSchedule.untuned(request.kernel, target)) != default:
            candidates = unordered([default, *(s for s in candidates if s != start)], request) if frequencies else []
            default = start
        elif not candidates:
            continue
        chosen.append(request)
        tasks.append(Task(frequencies, default, candidates))
    schedules_found = search(tasks, trials, MeasuredCosts(chosen, tasks, target, folder), guide.weighs)
    return {
        request: schedules
        for request, schedules in zip(chosen, schedules_found, strict=True)
        if schedules != ((0, KernelSchedule.default(request.kernel, target)),)
    }


def unordered(schedules: Sequence[KernelSchedule], request: Request) -> list[KernelSchedule]:
    """The schedules in an arbitrary order, always the same for one kernel."""
    return random.Random(request.kernel.name).sample(schedules, len(schedules))
