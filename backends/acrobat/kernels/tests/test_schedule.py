"""Schedules: the default ones write what the templates always wrote, and all others compute the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from backends.acrobat.kernels.benchmarks import models
from backends.acrobat.kernels.emit import emit, symbol
from backends.acrobat.kernels.packing import panels
from backends.acrobat.kernels.schedule import REGISTERS, Schedule, grid, panel_count, rest_rows
from backends.acrobat.kernels.spec import Kernel, Mode
from backends.acrobat.kernels.target import CpuTarget
from backends.acrobat.kernels.tests.support import HERE, check, execute
from backends.acrobat.kernels.tests.test_gemm import KERNELS, gated, plain, prepared, rows_each

G = Mode.GATHERED
WIDE, NARROW = CpuTarget("x86-64-v4", 16), CpuTarget("x86-64-v3", 8)
GOLDEN: dict[str, tuple[Kernel, CpuTarget, str, str]] = {
    "leaf, 16 lanes": (models.leaf(256), WIDE, "k_leaf_9b09571c", "8170b3a3d448ce3d"),
    "leaf, 8 lanes": (models.leaf(256), NARROW, "k_leaf_2d1df786", "e574a0f8be412b7c"),
    "compose, 16 lanes": (models.compose(256), WIDE, "k_compose_8597c599", "62a85b57bd52f9fd"),
    "compose, 8 lanes": (models.compose(256), NARROW, "k_compose_426d5e38", "a1342ef989f5b336"),
    "epilogue, 16 lanes": (KERNELS["epilogue"], WIDE, "k_test_1597bae9", "4215e6f536265942"),
    "epilogue, 8 lanes": (KERNELS["epilogue"], NARROW, "k_test_477c6a09", "33ec592bb666ce87"),
    "four gates, 16 lanes": (KERNELS["gates 4"], WIDE, "k_test_d323f3d0", "48380ab3d04cae50"),
    "four gates, 8 lanes": (KERNELS["gates 4"], NARROW, "k_test_09252711", "1186db6cc20e54a3"),
    "eight gates, 16 lanes": (KERNELS["gates 8"], WIDE, "k_test_1f157f1b", "0a77b57e19c57864"),
    "eight gates, 8 lanes": (KERNELS["gates 8"], NARROW, "k_test_743a822b", "538e09de17c267a6"),
    "odd, 16 lanes": (KERNELS["odd"], WIDE, "k_test_e299d65b", "6d800bff253624e8"),
    "odd, 8 lanes": (KERNELS["odd"], NARROW, "k_test_ab652b9a", "bf5ac45caf6611d5"),
    "heads apart, 16 lanes": (KERNELS["heads apart"], WIDE, "k_test_3d9e1f18", "937ebf363aeee52c"),
    "heads apart, 8 lanes": (KERNELS["heads apart"], NARROW, "k_test_3b22fc06", "bf19edf4965ca488"),
    "matrix vector, 16 lanes": (models.matrix_vector(64), WIDE, "k_matrix_vector_8a84484e", "88b02b3571754212"),
    "matrix vector, 8 lanes": (models.matrix_vector(64), NARROW, "k_matrix_vector_cf402688", "a1a1855eb478f3d7"),
    "scores, 16 lanes": (models.scores(20, 2, 64), WIDE, "k_scores_04551463", "70c90bb7c2ee0796"),
    "scores, 8 lanes": (models.scores(20, 2, 64), NARROW, "k_scores_a06d8033", "6322548b48f84686"),
    "context, 16 lanes": (models.context(20, 2, 64), WIDE, "k_context_41f1c42e", "e817f20358159233"),
    "context, 8 lanes": (models.context(20, 2, 64), NARROW, "k_context_80a7011f", "6216b944097d01ef"),
}
"""Kernel, target, symbol, and hash of the TensorIR, as they were before schedules were explicit."""


@pytest.mark.parametrize(("kernel", "target", "name", "text"), GOLDEN.values(), ids=GOLDEN)
def test_default_schedules_write_what_was_written_before(kernel: Kernel, target: CpuTarget, name: str, text: str) -> None:
    """But for the tiles of the rest, of which there were fewer."""
    from backends.acrobat.kernels import templates

    usual = Schedule.default(kernel, target)
    before = replace(usual, rest=tuple(r for r in (4, 2, 1) if r < usual.rows)) if usual.template == "gemm" else usual
    assert symbol(kernel, G, target) == symbol(kernel, G, target, usual) == name
    written = templates.write_kernel(kernel, G, name, target, before)
    script = written.function.without_attr("tirx.noalias").script()
    assert hashlib.sha256(script.encode()).hexdigest()[:16] == text


def test_a_schedule_has_a_symbol_of_its_own() -> None:
    kernel = plain(9, 20)
    names = {symbol(kernel, G, HERE, s) for s in [Schedule.default(kernel, HERE), *grid(kernel, HERE, {5: 1.0})]}
    assert len(names) == 1 + len(grid(kernel, HERE, {5: 1.0}))


def covering(schedules: list[Schedule]) -> list[Schedule]:
    """Enough of them for every tile, every group, and both orders, prefetching or not, with every height of tile."""
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
def test_every_candidate_is_right(kernel: Kernel, pick: Callable[[list[Schedule]], list[Schedule]]) -> None:
    candidates = pick(grid(kernel, HERE, {3: 1.0, 23: 1.0}))
    assert candidates
    runs = [prepared(kernel, rows) for rows in (1, 4, 23)]
    for schedule in candidates:
        for run in runs:
            check(run, execute(run, schedule=schedule))


@pytest.mark.parametrize("target", [WIDE, NARROW], ids=lambda t: t.mcpu)
@pytest.mark.parametrize("gates", [1, 2, 3, 4, 7])
def test_the_grid_fits_the_registers_and_one_packing(gates: int, target: CpuTarget) -> None:
    kernel = gated(gates, 256)
    found = grid(kernel, target, {8: 1.0, 600: 1.0})
    assert len(set(found)) == len(found) > 4
    assert Schedule.default(kernel, target) not in found
    for s in found:
        assert s.rows * s.panels * gates + s.panels * gates < REGISTERS[target.lanes]
        assert panel_count(256, target.lanes) % s.group == s.group % s.panels == s.block % s.rows == 0
        assert s.rest == rest_rows(s.rows)
    packs = {str(sorted(emit(kernel, G, HERE, s).packs.items())) for s in grid(kernel, HERE, {8: 1.0})[:2]}
    assert packs == {str(sorted({n: panels(gates, HERE.lanes, panel_count(256, HERE.lanes)) for n in "wb"}.items()))}


def test_several_threads_keep_their_parts() -> None:
    kernel = models.leaf(256)
    one, four = ([panel_count(256, HERE.lanes) // s.group for s in grid(kernel, HERE, {8: 1.0}, threads)] for threads in (1, 4))
    assert min(one) < min(four) == emit(kernel, G, HERE).parts


def test_what_is_no_product_has_no_grid() -> None:
    assert grid(models.softmax(4, 2), HERE, {8: 1.0}) == []


@pytest.mark.parametrize("rows", range(1, 15))
def test_the_rest_ends_in_one_row(rows: int) -> None:
    rest = rest_rows(rows)
    assert list(rest) == sorted(set(rest), reverse=True)
    assert (rest[-1] == 1 and rest[0] < rows) if rows > 1 else rest == ()
