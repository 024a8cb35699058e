"""Tuning on a CUDA device (`compile(module, device="cuda", tune=64)`): chooses the tiles of products by running them there.

Without tuning, tiles come from a prediction that no device has confirmed (`kernels/cuda/schedule.py`). Each candidate is
compared with the schedule that the prediction chooses for the same number of rows, which stays where no candidate is faster.
Measurements are kept for each device, by its name, and for each version of the kernels' compiler.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from backends.acrobat import versions
from backends.acrobat.kernels.cuda import gemm
from backends.acrobat.kernels.cuda.build import HERE, version
from backends.acrobat.kernels.cuda.emit import default_schedules, symbol
from backends.acrobat.kernels.cuda.schedule import CudaSchedule, gemm_cycles, gemm_schedules
from backends.acrobat.kernels.cuda.target import CudaTarget
from backends.acrobat.kernels.interface import Request, Schedules
from backends.acrobat.tuning.cache import Measurements
from backends.acrobat.tuning.cuda_bench import CudaBench
from backends.acrobat.tuning.search import Task, extents, search
from backends.acrobat.tuning.tune import Guide, MeasuredCosts

LARGEST_EXTENT = 4096
"""From this many rows on the time of a kernel is proportional to its rows, because all multiprocessors are busy."""


@dataclass(frozen=True, slots=True)
class PredictedSchedule:
    """The default schedule of a product: the variants that the prediction chooses, each from a number of rows on."""

    variants: Schedules

    def within(self, first: int, last: float) -> Schedules:
        """The variants for launches of at least `first` and fewer than `last` rows; the first of them begins at `first`."""
        begin = max(i for i, (rows, _) in enumerate(self.variants) if rows <= first)
        variants = [(max(rows, first), schedule) for rows, schedule in self.variants[begin:] if rows < last]
        return tuple(variants)


class CudaMeasuredCosts(MeasuredCosts):
    """Costs as measured on a CUDA device."""

    def measurements(self, request: Request, task: Task) -> Measurements:
        text = repr((request.kernel, request.out_mode, self.target, task.default, sources_hash(), compiler_of(self.target)))
        name = symbol(request.kernel, request.out_mode, self.target).rpartition("_")[0]
        path = self.folder / "cuda" / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
        return Measurements(path, lambda fields: CudaSchedule(**fields))

    def bench(self, request: Request, task: Task) -> CudaBench:
        return CudaBench(request, self.target, tuple(task.extents), task.default.variants)


def tune(
    requests: Sequence[Request], target: CudaTarget, trials: int, guide: Guide, folder: Path
) -> Mapping[Request, Schedules]:
    """The schedules of those products for which tuning takes others than the predicted ones; at most `trials` candidates are
    measured. `folder` keeps measurements. Raises ScheduleWrong, and UnsupportedCuda with what the driver says if it fails."""
    chosen, tasks = [], []
    for request in requests:
        plan_and_lanes = gemm.plan_of(request.kernel)
        launches = guide.launches(symbol(request.kernel, request.out_mode, target))
        if plan_and_lanes is None or not launches:
            continue
        plan, frequencies = plan_and_lanes[0], extents(launches, LARGEST_EXTENT)
        default = default_schedules(request.kernel, target)

        def predicted(schedule: CudaSchedule, plan: Any = plan, frequencies: Mapping[int, float] = frequencies) -> float:
            return sum(often * gemm_cycles(schedule, plan, rows * plan.rows, target) for rows, often in frequencies.items())

        chosen.append(request)
        tasks.append(Task(frequencies, PredictedSchedule(default), sorted(gemm_schedules(plan, target), key=predicted)))
    chosen_schedules = search(tasks, trials, CudaMeasuredCosts(chosen, tasks, target, folder), guide.weighs)
    result = {request: expanded(schedules) for request, schedules in zip(chosen, chosen_schedules, strict=True)}
    return {r: schedules for r, schedules in result.items() if schedules != default_schedules(r.kernel, target)}


def expanded(schedules: Schedules) -> Schedules:
    """The schedules with each `PredictedSchedule`, which is for a range of rows, replaced by its variants for that range."""
    ends = [*(rows for rows, _ in schedules[1:]), float("inf")]
    out: list[tuple[int, Any]] = []
    for (first, schedule), last in zip(schedules, ends, strict=True):
        for rows, variant in schedule.within(first, last) if isinstance(schedule, PredictedSchedule) else ((first, schedule),):
            if not out or out[-1][1] != variant:
                out.append((rows, variant))
    return tuple(out)


@cache
def sources_hash() -> str:
    """A hash of all sources that the text of kernels is made by."""
    return versions.hash_of(path for path in HERE.iterdir() if path.suffix in versions.SOURCES)


def compiler_of(target: CudaTarget) -> str:
    return versions.cpp_compiler() if target.emulated else str(version())
