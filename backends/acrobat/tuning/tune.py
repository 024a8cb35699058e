"""Tuning of a program's kernels (paper: auto-scheduling, with profile-guided optimization).

With a profile, each kernel is measured at the numbers of rows that its launches had, and trials go where time goes. Without
one, every kernel is measured at one number of rows, and what is best there serves all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from backends.acrobat.kernels.cpu.emit import Schedules, symbol
from backends.acrobat.kernels.cpu.schedule import Schedule, grid
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.interface import Request
from backends.acrobat.tuning.cache import Measurements, path_for
from backends.acrobat.tuning.measure import Bench
from backends.acrobat.tuning.search import Task, Timing, extents, search

ESTIMATE = 64
"""The batch extent where nothing is known (the paper's)."""


class Measured:
    """Costs as measured here, or as kept from an earlier time."""

    def __init__(self, requests: Sequence[Request], tasks: Sequence[Task], target: CpuTarget, folder: Path) -> None:
        self.requests = requests
        self.tasks = tasks
        self.target = target
        self.folder = folder
        self.kept: dict[int, Measurements] = {}
        self.benches: dict[int, Bench] = {}

    def baseline(self, task: int) -> Mapping[int, float]:
        known, wanted = self._known(task), self.tasks[task].extents.keys()
        if not wanted <= known.baseline.keys():
            known.baseline |= self._bench(task).baseline()
            known.write()
        return known.baseline

    def measure(self, task: int, schedule: Schedule) -> Mapping[int, Timing]:
        known, wanted = self._known(task), self.tasks[task].extents.keys()
        found = known.timings.setdefault(schedule, {})
        if not wanted <= found.keys():
            found |= self._bench(task).measure(schedule)
            known.write()
        return found

    def _known(self, task: int) -> Measurements:
        if task not in self.kept:
            request = self.requests[task]
            self.kept[task] = Measurements(path_for(self.folder, request.kernel, request.out_mode, self.target))
        return self.kept[task]

    def _bench(self, task: int) -> Bench:
        if task not in self.benches:
            request = self.requests[task]
            self.benches = {task: Bench(request.kernel, request.out_mode, self.target, tuple(self.tasks[task].extents))}
        return self.benches[task]


def tune(
    requests: Sequence[Request],
    target: CpuTarget,
    trials: int,
    profile: Mapping[str, Mapping[int, float]] | None,
    threads: int,
    folder: Path,
) -> dict[Request, Schedules]:
    """The schedules of those kernels for which another than the default one was found, with at most `trials` measured.
    `profile` is `Executable.profile`'s, or None; `folder` keeps measurements. Raises ScheduleWrong."""
    chosen, tasks = [], []
    for request in requests:
        launches: Mapping[int, float] = {ESTIMATE: 1}
        if profile is not None:
            launches = profile.get(symbol(request.kernel, request.out_mode, target), {})
        if not launches:
            continue
        seen = extents(launches)
        candidates = grid(request.kernel, target, seen, threads)
        if candidates:
            chosen.append(request)
            tasks.append(Task(seen, Schedule.default(request.kernel, target), candidates))
    found = search(tasks, trials, Measured(chosen, tasks, target, folder), guided=profile is not None)
    usual = {r: ((0, t.default),) for r, t in zip(chosen, tasks, strict=True)}
    return {r: schedules for r, schedules in zip(chosen, found, strict=True) if schedules != usual[r]}
