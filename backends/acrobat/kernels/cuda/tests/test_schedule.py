"""What is predicted of products of many rows, and which tiles are chosen by it."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import pytest

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu.tests.support import Builder, param
from backends.acrobat.kernels.cuda import gemm
from backends.acrobat.kernels.cuda.schedule import CudaSchedule, gemm_cycles, gemm_schedules, gemm_variants
from backends.acrobat.kernels.cuda.tests.support import H200
from backends.acrobat.kernels.plan import Gemm

G, S = Mode.GATHERED, Mode.SHARED


def of_rows(rows: int, units: int = 256, depth: int = 256) -> Gemm:
    """A product with a shared weight that has so many rows for each instance."""
    b = Builder(param("x", G, rows, depth), param("w", S, units, depth), param("b", S, units))
    kernel: Kernel = b.kernel(b("relu", b("linear", "x", "w", "b")))
    plan = gemm.plan_of(kernel)
    assert plan
    return plan[0]


def test_only_products_of_many_rows_have_large_tiles() -> None:
    shapes = [{(s.rows, s.panels) for s in gemm_schedules(of_rows(rows), H200) if s.template == "many"} for rows in (64, 128)]
    assert shapes[0] == {(r, p) for r in (2, 4, 8) for p in (1, 2)}
    assert shapes[1] == {(r, p) for r in (2, 4, 8, 12) for p in (1, 2, 3, 4)} - {(12, 3), (12, 4)}
    assert all(
        s.rows < 12 and s.panels < 3
        for s in gemm_schedules(of_rows(128), replace(H200, precision="tf32"))
        if s.template == "many"
    )


def test_tiles_are_chosen_so_that_they_fill_the_multiprocessors() -> None:
    """A product with 768 units on 132 multiprocessors: 22 instances are 132 tiles of 128 x 128, and 33 are 132 of 128 x 192."""
    variants = gemm_variants(of_rows(128, 768, 3072), H200)
    used = {n: [s for first, s in variants if first <= n][-1] for n in range(1, 65)}
    assert used[22] == used[44] == CudaSchedule("many", 8, 2)
    assert used[33] == used[30] == CudaSchedule("many", 8, 3)
    assert len({s for _, s in variants}) < len(variants)  # a schedule is used for several ranges


@pytest.mark.parametrize(("units", "depth"), [(768, 3072), (3072, 768), (768, 768)])
def test_what_is_used_is_what_is_predicted_to_be_fast(units: int, depth: int) -> None:
    plan = of_rows(128, units, depth)
    variants = gemm_variants(plan, H200)
    ratios = []
    for n in range(1, 65):
        used = gemm_cycles([s for first, s in variants if first <= n][-1], plan, n * 128, H200)
        ratios.append(used / min(gemm_cycles(s, plan, n * 128, H200) for s in gemm_schedules(plan, H200)))
    assert max(ratios) < 1.5 and fmean(ratios) < 1.06  # there are few variants, since each is code
