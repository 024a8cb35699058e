"""The estimate of a mini-batch's time: which barriers, steps, tiles and operations it counts."""

from __future__ import annotations

from backends.acrobat.benchmarks import models
from backends.acrobat.benchmarks.cuda_estimate import H200, Constants, KernelOnDevice, work_of
from backends.acrobat.core.units import Mode
from backends.acrobat.kernels.cuda import gemm
from backends.acrobat.kernels.cuda.emit import variants
from backends.acrobat.kernels.interface import flops


def test_calls_of_a_level_share_a_barrier_unless_they_wait_for_each_other() -> None:
    kernel = models.birnn(32)
    plan = gemm.plan_of(kernel)
    assert plan
    made = variants(kernel, Mode.GATHERED, H200)
    known = {
        "a": KernelOnDevice(made, plan[0], 0),
        "b": KernelOnDevice(made, plan[0], 0),
        "after": KernelOnDevice(made, plan[0], 1),
    }
    launches = [(0, 0, "step", "a", 7), (0, 0, "step", "b", 2), (0, 0, "step", "after", 3), (0, 1, "step", "a", 64)]
    work = work_of(launches, known, Constants())
    assert (work.barriers, work.steps) == (3, 4)
    assert work.flops == 76 * flops(kernel)
    assert work.tiles == sum(known[s].variant(rows).code.tiles(rows) for *_, s, rows in launches)
    once = work_of(launches[-1:], known, Constants())
    assert 0 < once.tile_us < work.tile_us and set(work.by_kernel) == {"step"}
    once.executions = 3
    assert once.trips_ms(Constants(start_us=10, round_trip_us=500)) == 1.01
