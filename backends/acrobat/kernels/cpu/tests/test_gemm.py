from __future__ import annotations

import numpy as np
import pytest

from backends.acrobat.benchmarks import models
from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu.schedule import default_gemm, panel_count
from backends.acrobat.kernels.cpu.target import CpuTarget, Tile
from backends.acrobat.kernels.cpu.tests.support import HERE, TARGETS, Builder, Run, check, compiled, execute, param, random_run
from backends.acrobat.kernels.fusible import is_gemm, is_product
from backends.acrobat.kernels.plan import plan_gemm

G, S, C, L = Mode.GATHERED, Mode.SHARED, Mode.CONTIGUOUS, Mode.LIST
ROWS = (0, 1, 2, 3, 5, 8, 9, 64, 65)


def prepared(kernel: Kernel, rows: int) -> Run:
    """Random operands, weights scaled so that activations see all of their range."""
    run = random_run(kernel, rows)
    run.weights = {n: w / np.float32(w.shape[-1] ** 0.25) for n, w in run.weights.items()}
    return run


def plain(inputs: int, outputs: int, bias: bool = True) -> Kernel:
    b = Builder(param("x", G, inputs), param("w", S, outputs, inputs), *([param("b", S, outputs)] if bias else []))
    return b.kernel(b("linear", "x", "w", *(["b"] if bias else [])))


def gated(count: int, width: int, inputs: int = 19) -> Kernel:
    """Each gate goes through a function of its own. The results are the product of all gates, and all of them but the first."""
    b = Builder(param("x", C, inputs), param("w", S, count * width, inputs), param("b", S, count * width))
    p = b("linear", "x", "w", "b")
    pieces = [b("slice", p, dim=0, start=i * width, stop=(i + 1) * width) for i in range(count)]
    results = [b(("sigmoid", "tanh", "relu")[i % 3], piece) for i, piece in enumerate(pieces)]
    product = results[0]
    for r in results[1:]:
        product = b("mul", product, r)
    return b.kernel(product, *results[1:])


def sliced_after() -> Kernel:
    """Element-wise work on a whole product, of which the results are slices."""
    b = Builder(param("x", G, 20), param("h", G, 20), param("w", S, 48, 40), param("u", S, 48))
    y = b("sigmoid", b("add", b("linear", b("cat", "x", "h", dim=0), "w"), "u"))
    return b.kernel(*(b("slice", y, dim=0, start=24 * i, stop=24 * i + 24) for i in range(2)))


def epilogue() -> Kernel:
    """Operands of every mode in the epilogue, a number for each row, literals, values used twice."""
    b = Builder(
        param("x", G, 33), param("w", S, 37, 33), param("g", G, 37), param("c", C, 37), param("xs", L, 37), param("v", S, 37),
        param("s", G), param("one", C, 1),
    )  # fmt: skip
    y = b("add", b("linear", "x", "w"), b("list_sum", "xs"))
    z = b("sub", b("mul", y, "s"), b("mul", "g", "one"))
    t = b("tanh", b("add", z, "v"))
    return b.kernel(b("mul", b("sigmoid", y), "c"), b("add", b("mul", t, 0.5), y), t)


def rows_each(rows: int = 7, inputs: int = 12, outputs: int = 20) -> Kernel:
    """Several rows for each instance, halves of the input from two operands."""
    b = Builder(
        param("a", G, rows, inputs), param("c", C, rows, inputs), param("w", S, outputs, 2 * inputs), param("b", S, outputs)
    )
    y = b("linear", b("cat", "a", "c", dim=1), "w", "b")
    return b.kernel(b("relu", y))


def heads_apart(rows: int = 10, heads: int = 3, width: int = 16) -> Kernel:
    """Queries, keys and values in one product, each laid out head by head."""
    hidden = heads * width
    b = Builder(param("x", G, rows, hidden), param("w", S, 3 * hidden, hidden), param("b", S, 3 * hidden))
    y = b("reshape", b("linear", "x", "w", "b"), shape=(rows, 3 * heads, width))
    y = b("permute", y, dims=(1, 0, 2))
    q, k, v = (b("slice", y, dim=0, start=i * heads, stop=(i + 1) * heads) for i in range(3))
    return b.kernel(b("mul", q, 0.25), k, v)


def heads_together(rows: int = 10, heads: int = 3, width: int = 16) -> Kernel:
    """The input's columns gathered from heads that lie apart, a residual in the epilogue."""
    hidden = heads * width
    b = Builder(param("c", G, heads, rows, width), param("x", G, rows, hidden), param("w", S, hidden, hidden))
    y = b("reshape", b("permute", "c", dims=(1, 0, 2)), shape=(rows, hidden))
    return b.kernel(b("add", b("linear", y, "w"), "x"))


KERNELS = {
    "leaf": models.leaf(64),
    "leaf, contiguous": models.leaf(48, C),
    "compose": models.compose(32),
    "forget": models.forget(64),
    "birnn": models.birnn(32),
    "classifier 5": models.classifier(50, 5),
    "classifier 16": models.classifier(64, 16),
    "one column": plain(40, 1),
    "odd": plain(37, 41),
    "depth one": plain(1, 33),
    "no bias": plain(16, 96, bias=False),
    "many panels": plain(8, 16 * 7),
    "gates 2": gated(2, 40),
    "gates 3, odd": gated(3, 21),
    "gates 4": gated(4, 32),
    "gates 5": gated(5, 16),
    "gates 8": gated(8, 17),
    "two columns": gated(2, 1),
    "sliced after": sliced_after(),
    "epilogue": epilogue(),
    "rows each": rows_each(),
    "rows each, eight": rows_each(8),
    "heads apart": heads_apart(),
    "heads together": heads_together(),
}


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.mcpu)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_results(kernel: Kernel, target):
    assert is_gemm(kernel)
    assert not is_product(kernel)
    for rows in ROWS:
        run = prepared(kernel, rows)
        check(run, execute(run, target=target))


def test_results_placed_contiguously():
    run = prepared(models.leaf(32), 13)
    check(run, execute(run, Mode.CONTIGUOUS))


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.mcpu)
def test_rows_and_parts_in_pieces(target):
    kernel = plain(24, 300)
    run = prepared(kernel, 21)
    parts = compiled(kernel, G, target)[0].code.parts
    assert parts > 2
    pieces = [(0, 5, 1, parts), (5, 21, 0, 2), (0, 5, 0, 1), (5, 21, 2, 3), (5, 21, 3, parts)]
    check(run, execute(run, target=target, pieces=pieces))


def test_an_untouched_part_stays_untouched():
    kernel = plain(24, 300)
    run = prepared(kernel, 3)
    results = execute(run, pieces=[(0, 2, 0, 1)])
    assert np.isfinite(results[0][0][:16]).all()
    assert np.isnan(results[0][0][64:]).all()
    assert np.isnan(results[2][0]).all()


def test_rows_that_are_one_row():
    run = prepared(models.birnn(32), 9)
    run.operands["s"] = run.operands["x"]
    run.operands["x"] = [run.operands["s"][0]] * 9
    check(run, execute(run))


def test_a_list_may_be_empty_or_long():
    run = prepared(models.compose(32), 3)
    some = run.operands["fc"][0] + run.operands["fc"][1] + run.operands["fc"][2]
    item = some[0] if some else np.ones(32, np.float32)
    run.operands["fc"] = [[], [item] * 40, [item]]
    check(run, execute(run))


def no_gemm_cases() -> dict[str, Kernel]:
    b = Builder(param("x", G, 8), param("w", S, 16, 8))
    softmax = b.kernel(b("softmax", b("linear", "x", "w"), dim=0))
    b = Builder(param("x", G, 8), param("w", S, 16, 8))
    crossed = b.kernel(b("add", b("linear", "x", "w"), b("permute", b("linear", "x", "w"), dims=(0,))))
    b = Builder(param("x", G, 8), param("w", S, 16, 8))
    computed = b.kernel(b("linear", b("relu", "x"), "w"))
    b = Builder(param("x", G, 8), param("w", G, 16, 8))
    gathered = b.kernel(b("linear", "x", "w"))
    b = Builder(param("x", G, 8), param("w", S, 24, 8))
    y = b("linear", "x", "w")
    unequal = b.kernel(b("add", b("slice", y, dim=0, start=0, stop=12), b("slice", y, dim=0, start=6, stop=18)))
    b = Builder(param("x", G, 8), param("y", G, 16), param("w", S, 16, 8))
    independent = b.kernel(b("linear", "x", "w"), b("relu", "y"))
    return {
        "softmax": softmax,
        "two products": crossed,
        "computed input": computed,
        "gathered weight": gathered,
        "overlapping columns": unequal,
        "independent result": independent,
    }


@pytest.mark.parametrize("kernel", no_gemm_cases().values(), ids=no_gemm_cases())
def test_what_is_no_gemm_is_right_all_the_same(kernel: Kernel):
    assert not is_gemm(kernel)
    run = prepared(kernel, 3)
    check(run, execute(run))


def test_gates_meet_in_one_lane():
    plan = plan_gemm(models.leaf(256), 16)
    assert plan is not None
    assert (plan.epilogue.gates, plan.epilogue.units, plan.rows, plan.depth) == (3, 256, 1, 256)
    assert compiled(models.leaf(256), G, HERE)[0].code.parts == 4 * 16 // HERE.lanes


@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("gates", range(1, 9))
@pytest.mark.parametrize("units", [1, 5, 16, 17, 100, 256])
def test_default_tiles_use_the_registers_and_cover_every_rest(lanes: int, gates: int, units: int):
    plan = plan_gemm(gated(gates, units), lanes)
    assert plan is not None
    gates = plan.epilogue.gates
    target = CpuTarget("any", lanes)
    schedule = default_gemm(plan, target)
    count = panel_count(plan.epilogue.units, target)
    assert count * lanes >= plan.epilogue.units
    assert count % schedule.group == 0
    tiles = schedule.tiles(gates, target)
    assert tiles[0] == Tile(schedule.rows, schedule.panels)
    for tile in tiles:
        assert schedule.group % tile.panels == 0
        assert tile.rows * tile.panels * gates <= (24 if lanes == 16 else 12)
    rows = [tile.rows for tile in tiles]
    assert rows == sorted(set(rows), reverse=True)
    assert rows[-1] == 1


def test_emission_is_cached_and_named_by_content():
    a, b = models.classifier(50, 5), models.classifier(50, 6)
    assert compiled(a, G, HERE)[0].symbol != compiled(b, G, HERE)[0].symbol
    assert compiled(a, G, HERE)[0].symbol != compiled(a, C, HERE)[0].symbol
    assert compiled(a, G, HERE)[0].flops_per_row == 2 * 50 * 5
