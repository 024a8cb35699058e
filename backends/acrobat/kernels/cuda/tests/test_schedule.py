"""Products of many rows: how many blocks of a multiprocessor they are made for, and what is predicted of their tiles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu.tests import test_gemm, test_product
from backends.acrobat.kernels.cpu.tests.support import Builder, param
from backends.acrobat.kernels.cuda import gemm
from backends.acrobat.kernels.cuda.emit import default_schedules, emit
from backends.acrobat.kernels.cuda.module import resident_blocks
from backends.acrobat.kernels.cuda.schedule import CudaSchedule, gemm_cycles, gemm_schedules, gemm_variants
from backends.acrobat.kernels.cuda.tests.support import H200
from backends.acrobat.kernels.interface import CudaCode, Emitted

G, S = Mode.GATHERED, Mode.SHARED


def of_rows(rows: int, units: int = 256, depth: int = 256) -> Kernel:
    """A product with a shared weight that has so many rows for each instance."""
    b = Builder(param("x", G, rows, depth), param("w", S, units, depth), param("b", S, units))
    return b.kernel(b("relu", b("linear", "x", "w", "b")))


def made(kernel: Kernel, *schedules: CudaSchedule) -> list[Emitted[CudaCode]]:
    return [emit(kernel, G, H200, s) for s in schedules or [s for _, s in default_schedules(kernel, H200)]]


def test_a_module_has_two_blocks_where_each_instance_has_many_rows() -> None:
    assert resident_blocks(made(of_rows(128)), H200) == 2
    assert resident_blocks(made(of_rows(64)), H200) == 1
    assert resident_blocks(made(test_product.scores(3, 128, 64)), H200) == 2
    assert resident_blocks(made(test_product.scores(3, 18, 24)), H200) == 1
    assert resident_blocks([], H200) == 1


def test_a_kernel_that_needs_a_whole_multiprocessor_keeps_the_other_block_away() -> None:
    many, whole = made(of_rows(128)), made(test_gemm.gated(4, 64), CudaSchedule("many", 8, 1))
    assert resident_blocks(whole, H200) == 1
    assert resident_blocks([*many, *made(test_gemm.gated(4, 64), CudaSchedule("many", 4, 1))], H200) == 2
    assert resident_blocks([*many, *whole], H200) == 1
    assert resident_blocks(many, replace(H200, shared=100 << 10)) == 1


def test_products_of_many_rows_have_only_schedules_for_two_blocks() -> None:
    plan = gemm.plan_of(of_rows(128))
    assert plan
    many = [s for s in gemm_schedules(plan[0]) if s.template == "many"]
    assert {(s.rows, s.panels) for s in many} == {(r, p) for r in (2, 4, 8) for p in (1, 2, 3)} - {(8, 3)}
    assert {e.code.resident for e in made(of_rows(128), *many)} == {2}


@pytest.mark.parametrize(("instances", "share"), [(1, 1.0), (16, 1.0), (17, 2 * 0.58 / 0.75), (32, 2 * 0.58 / 0.75)])
def test_two_tiles_of_a_multiprocessor_take_less_than_twice_as_long_as_one(instances: int, share: float) -> None:
    """With 16 multiprocessors and one tile for each instance: from the 17th on, one of them has two."""
    plan = gemm.plan_of(of_rows(128, units=128, depth=1 << 20))
    assert plan
    one, some = (gemm_cycles(CudaSchedule("many", 8, 2), plan[0], n * 128, 16) for n in (1, instances))
    assert some / one == pytest.approx(share, rel=0.02)


def test_a_third_tile_follows_when_a_round_of_two_has_ended() -> None:
    plan = gemm.plan_of(of_rows(128, units=128, depth=1 << 20))
    assert plan
    one, two, three = (gemm_cycles(CudaSchedule("many", 8, 2), plan[0], n * 128, 16) for n in (1, 32, 33))
    assert three == pytest.approx(one + two, rel=0.01)


def test_variants_of_many_rows_end_with_the_largest_tiles() -> None:
    plan = gemm.plan_of(of_rows(128, 768, 3072))
    assert plan
    assert gemm_variants(plan[0], 132)[-1][1] == CudaSchedule("many", 8, 2)
