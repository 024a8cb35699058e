"""Products on tensor cores, which the emulation has too: whether the right elements are multiplied, what is rounded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu.tests import test_gemm, test_product
from backends.acrobat.kernels.cpu.tests.support import Run, check, random_run
from backends.acrobat.kernels.cuda import gemm
from backends.acrobat.kernels.cuda.schedule import CudaSchedule, gemm_variants
from backends.acrobat.kernels.cuda.tests.support import H200, ORDERS, Module, emitted_for, execute
from backends.acrobat.kernels.interface import CudaCode, Emitted
from backends.acrobat.options import Precision

FRACTION: dict[Precision, int] = {"tf32": 10, "bf16": 7}
"""The bits of fraction that each precision keeps of float32's 23."""


def rounded(values: np.ndarray, precision: Precision) -> np.ndarray:
    """The nearest numbers with so few bits. How ties are rounded does not matter: random numbers have hardly any."""
    lost = np.uint32(23 - FRACTION[precision])
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + (np.uint32(1) << (lost - np.uint32(1)))) >> lost << lost).view(np.float32)


def in_place(run: Run, precision: Precision) -> None:
    """Rounds all operands in place, so that kernels have nothing left to round."""
    run.weights = {name: rounded(w, precision) for name, w in run.weights.items()}
    for values in run.operands.values():
        for value in values:
            for array in value if isinstance(value, list) else [value]:
                array[...] = rounded(array, precision)


SHAPES = [(rows, panels) for rows in (2, 4, 8) for panels in (1, 2, 3)]


def test_every_element_meets_its_partner() -> None:
    """With operands that need no rounding, products are as exact as in float32: all shapes of tiles, all numbers of gates that
    fit them, either precision, and inputs of several pieces."""
    made = []
    for number, (rows, panels) in enumerate(SHAPES):
        for k, precision in enumerate(FRACTION):
            gates = 1 + (number + 2 * k) % (4 // panels)
            many, both = CudaSchedule("many", rows, panels), CudaSchedule("both", rows, panels)
            made += [
                (test_gemm.gated(gates, 37 + 4 * number), emitted_many(gates, 37 + 4 * number, many, precision), precision),
                (product_of(number), emitted_for(product_of(number), Mode.GATHERED, both, precision), precision),
            ]
    for precision in FRACTION:
        pieces = test_gemm.rows_each()
        made.append((pieces, emitted_for(pieces, Mode.GATHERED, CudaSchedule("many", 2, 1), precision), precision))
    tried = {(p, e.schedule.template, e.schedule.rows, e.schedule.panels) for _, e, p in made}
    assert tried == {(p, t, *shape) for p in FRACTION for t in ("many", "both") for shape in SHAPES}
    built = Module([emitted for _, emitted, _ in made], modes=("launches",))
    for number, (kernel, emitted, precision) in enumerate(made):
        rows = (3, 40)[number % 4 == 0]
        run = test_gemm.prepared(kernel, rows) if emitted.schedule.template == "many" else random_run(kernel, rows)
        in_place(run, precision)
        try:
            check(run, execute(built, run, emitted, Mode.GATHERED, order=ORDERS[number % 3]), 5e-5)
        except AssertionError as error:
            raise AssertionError(f"{kernel.name}, {emitted.schedule}, {precision}, {rows} rows: {error}") from None


def product_of(number: int) -> Kernel:
    kinds = [test_product.scores(3, 18, 24), test_product.context(3, 20, 16), test_product.matmul((13, 17), (17, 150))]
    return kinds[number % len(kinds)]


def emitted_many(gates: int, width: int, schedule: CudaSchedule, precision: Precision) -> Emitted[CudaCode]:
    return emitted_for(test_gemm.gated(gates, width), Mode.GATHERED, schedule, precision)


@pytest.mark.parametrize("precision", FRACTION)
def test_operands_are_rounded_and_sums_are_not(precision: Precision) -> None:
    kernel = test_product.scores(3, 18, 24)
    emitted = emitted_for(kernel, Mode.GATHERED, CudaSchedule("both", 2, 1), precision)
    built = Module([emitted], modes=("launches",))
    run = random_run(kernel, 7)
    got = execute(built, run, emitted, Mode.GATHERED)
    with pytest.raises(AssertionError):
        check(run, got, 5e-5)
    in_place(run, precision)
    check(run, got, 5e-5)


def test_many_rows_run_on_tensor_cores_and_few_do_not() -> None:
    plan = gemm.plan_of(test_gemm.plain(512, 1024))
    assert plan
    for precision in FRACTION:
        chosen = gemm_variants(plan[0], replace(H200, precision=precision))
        assert chosen[0][1].template == "few" and chosen[-1][1].template == "many"
        exact = next(rows for rows, s in gemm_variants(plan[0], H200) if s.template == "many")
        assert next(rows for rows, s in chosen if s.template == "many") <= exact
