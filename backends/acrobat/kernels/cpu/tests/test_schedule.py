"""Schedules: all of them compute the same, and each has a name of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from backends.acrobat.benchmarks import models
from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu.emit import emit, symbol
from backends.acrobat.kernels.cpu.schedule import MIN_BLOCK, KernelSchedule, grid, panel_count, rest_rows
from backends.acrobat.kernels.cpu.target import AVX2_REGISTERS, AVX512_REGISTERS, CpuTarget, Registers
from backends.acrobat.kernels.cpu.tests.support import HERE, check, execute
from backends.acrobat.kernels.cpu.tests.test_gemm import gated, plain, prepared, rows_each
from backends.acrobat.kernels.lanes import MAX_GATES
from backends.acrobat.kernels.packing import panels

G = Mode.GATHERED
WIDE, NARROW = CpuTarget("x86-64-v4", 16), CpuTarget("x86-64-v3", 8)
DEEP = WIDE.registers.deep


def test_the_default_schedule_needs_no_name() -> None:
    kernel = models.compose(256)
    for target in (WIDE, NARROW):
        assert symbol(kernel, G, target) == symbol(kernel, G, target, KernelSchedule.default(kernel, target))
    assert symbol(kernel, G, WIDE) != symbol(kernel, G, NARROW)


def test_a_schedule_has_a_symbol_of_its_own() -> None:
    kernel = plain(9, 20)
    names = {symbol(kernel, G, HERE, s) for s in [KernelSchedule.default(kernel, HERE), *grid(kernel, HERE, {5: 1.0})]}
    assert len(names) == 1 + len(grid(kernel, HERE, {5: 1.0}))


def covering(schedules: list[KernelSchedule]) -> list[KernelSchedule]:
    """Enough of the schedules for every tile, every group, prefetching or not, and both orders with low and with high tiles."""
    seen: set[Any] = set()
    out = []
    for s in schedules:
        facts = {("tile", s.rows, s.panels), ("group", s.group), ("order", s.order, s.rows > 4), ("ahead", s.prefetch)}
        if not facts <= seen:
            seen |= facts
            out.append(s)
    return out


@pytest.mark.parametrize(
    ("kernel", "pick"),
    [
        pytest.param(plain(9, 20), list, id="one gate, a tail, all schedules"),
        pytest.param(plain(7, 60), covering, id="one gate"),
        pytest.param(gated(2, 20, 9), covering, id="two gates"),
        pytest.param(gated(3, 21, 9), covering, id="three gates, odd"),
        pytest.param(gated(4, 17, 9), covering, id="four gates, odd"),
        pytest.param(rows_each(3, 12, 20), covering, id="rows each"),
        pytest.param(models.matrix_vector(19), list, id="matrix times vector"),
        pytest.param(models.scores(11, 2, 16), list, id="transposed"),
        pytest.param(models.context(5, 2, 32), list, id="along columns"),
    ],
)
def test_every_candidate_is_right(kernel: Kernel, pick: Callable[[list[KernelSchedule]], list[KernelSchedule]]) -> None:
    candidates = pick(grid(kernel, HERE, {3: 1.0, 23: 1.0}))
    assert candidates
    runs = [prepared(kernel, rows) for rows in (1, 4, 23)]
    for schedule in candidates:
        for run in runs:
            check(run, execute(run, schedule=schedule))


@pytest.mark.parametrize("kernel", [plain(DEEP, 48), plain(9, 80), gated(3, 21, 9)], ids=["deep", "one gate", "three gates"])
def test_fetching_the_next_panels_changes_no_result(kernel: Kernel) -> None:
    """Behind the last panels it fetches what lies beyond the weight, which nothing reads."""
    schedule = replace(KernelSchedule.default(kernel, HERE), next_panels=True)
    other = replace(schedule, next_panels=False)
    assert emit(kernel, G, HERE, schedule).code.object_bytes != emit(kernel, G, HERE, other).code.object_bytes
    for rows in (1, 8, 41):
        run = prepared(kernel, rows)
        found, plainly = execute(run, schedule=schedule), execute(run, schedule=other)
        check(run, found)
        for got, want in zip(found, plainly, strict=True):
            np.testing.assert_array_equal(got, want)


def test_deep_products_of_one_input_fetch_the_next_panels() -> None:
    def fetches(kernel: Kernel) -> bool:
        return KernelSchedule.default(kernel, WIDE).next_panels

    assert fetches(plain(DEEP, 1024)) and fetches(plain(4 * DEEP, 160))
    assert not fetches(plain(DEEP - 1, 1024))  # measured without
    assert not fetches(plain(DEEP, 16))  # there are no next panels
    assert not fetches(models.birnn(DEEP))  # a cell: two inputs


@pytest.mark.parametrize("target", [WIDE, NARROW], ids=lambda t: t.mcpu)
@pytest.mark.parametrize("gates", [1, 2, 3, 4, 7])
def test_the_grid_fits_the_registers_and_one_packing(gates: int, target: CpuTarget) -> None:
    kernel = gated(gates, 256)
    found = grid(kernel, target, {8: 1.0, 600: 1.0})
    assert len(set(found)) == len(found) > 4
    assert KernelSchedule.default(kernel, target) not in found
    for s in found:
        assert s.rows * s.panels * gates + s.panels * gates < target.registers.count
        assert panel_count(256, target) % s.group == s.group % s.panels == s.block % s.rows == 0
        assert s.rest == rest_rows(s.rows)
    packs = {str(sorted(emit(kernel, G, HERE, s).packs.items())) for s in grid(kernel, HERE, {8: 1.0})[:2]}
    assert packs == {str(sorted({n: panels(gates, HERE.lanes, panel_count(256, HERE)) for n in "wb"}.items()))}


@pytest.mark.parametrize("target", [WIDE, NARROW], ids=lambda t: t.mcpu)
def test_a_block_of_rows_is_half_of_the_second_level_cache(target: CpuTarget) -> None:
    """Twice the cache gives twice the rows, in whole tiles; with a small cache a block keeps its least number of rows."""
    kernel = plain(1024, 64)
    for second_level in (1 << 19, 1 << 20, 1 << 21):
        schedule = KernelSchedule.default(kernel, replace(target, second_level=second_level))
        assert schedule.block == second_level // 8 // 1024 // schedule.rows * schedule.rows
    smallest = KernelSchedule.default(kernel, replace(target, second_level=1 << 12))
    assert 0 < smallest.block == MIN_BLOCK // smallest.rows * smallest.rows


@pytest.mark.parametrize("registers", [AVX2_REGISTERS, AVX512_REGISTERS])
def test_the_default_tiles_fit_the_registers(registers: Registers) -> None:
    assert len(registers.tiles) == MAX_GATES
    for gates, tile in enumerate(registers.tiles, 1):
        assert registers.least_sums <= tile.rows * tile.panels * gates <= registers.accumulators < registers.count


def test_several_threads_keep_their_parts() -> None:
    kernel = models.leaf(256)
    one, four = ([panel_count(256, HERE) // s.group for s in grid(kernel, HERE, {8: 1.0}, threads)] for threads in (1, 4))
    assert min(one) < min(four) == emit(kernel, G, HERE).code.parts


def test_what_is_no_product_has_no_grid() -> None:
    assert grid(models.softmax(4, 2), HERE, {8: 1.0}) == []


@pytest.mark.parametrize("rows", range(1, 15))
def test_the_rest_ends_in_one_row(rows: int) -> None:
    rest = rest_rows(rows)
    assert list(rest) == sorted(set(rest), reverse=True)
    assert (rest[-1] == 1 and rest[0] < rows) if rows > 1 else rest == ()
