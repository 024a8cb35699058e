"""Every template's kernels on the emulated device, against float64: shapes, operand modes, numbers of rows, thread orders."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from backends.acrobat.core.ops import ITEMWISE, OPS, Fusion
from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu.tests import test_gemm, test_product, test_rowwise, test_segments
from backends.acrobat.kernels.cpu.tests.support import Builder, check, param, random_run
from backends.acrobat.kernels.cuda import gemm, product
from backends.acrobat.kernels.cuda.emit import SHARED_HEADER
from backends.acrobat.kernels.cuda.schedule import CudaSchedule, gemm_schedules, product_schedule
from backends.acrobat.kernels.cuda.slices import plan_slices
from backends.acrobat.kernels.cuda.stages import ALONG
from backends.acrobat.kernels.cuda.tests.support import EMULATED, ORDERS, Chain, Module, emitted_for, execute, residual
from backends.acrobat.kernels.cuda.text import ELEMENTWISE, OVER_LISTS

G, S, C, L = Mode.GATHERED, Mode.SHARED, Mode.CONTIGUOUS, Mode.LIST


def deep() -> Kernel:
    """An input of which a tile of the template `few` cannot hold everything at once."""
    b = Builder(param("x", G, 2500), param("y", C, 2503), param("w", S, 9, 5003), param("b", S, 9))
    return b.kernel(b("tanh", b("linear", b("cat", "x", "y", dim=0), "w", "b")))


def long_slices() -> Kernel:
    """Slices that a whole block shares, and arithmetic around their sums."""
    b = Builder(param("x", G, 2, 1500), param("w", S, 1500), param("v", S, 1500))
    y = b("layer_norm", "x", "w", "v", eps=1e-5)
    share = b("div", y, b("add", b("sum", b("mul", y, y), dim=1, keepdim=True), 1.0))
    return b.kernel(b("softmax", share, dim=1), b("argmax", y, dim=1), b("max", "x", dim=1), share)


def many_short_slices() -> Kernel:
    """Slices of which a warp has several at once."""
    b = Builder(param("x", G, 2, 33, 2, 19), param("w", S, 19), param("v", S, 19))
    y = b("layer_norm", "x", "w", "v", eps=1e-5)
    return b.kernel(b("softmax", y, dim=3), b("argmax", y, dim=3), b("max", "x", dim=3), b("sum", y, dim=3, keepdim=True))


def reductions_of_inner() -> Kernel:
    """Reductions along a dimension that is not the last, of a value that several of them use."""
    b = Builder(param("x", G, 7, 5, 3), param("w", S, 5, 1))
    y = b("mul", b("exp", "x"), "w")
    moved = b("permute", y, dims=(2, 0, 1))
    return b.kernel(b("softmax", y, dim=1), b("mean", y, dim=0, keepdim=True), b("argmax", y, dim=1), moved)


def large_intermediate() -> Kernel:
    """Two products, the first of which does not fit into shared memory."""
    b = Builder(param("q", G, 250, 4), param("k", G, 250, 4))
    scores = b("matmul", "q", b("permute", "k", dims=(1, 0)))
    return b.kernel(b("matmul", b("softmax", scores, dim=1), "k"))


GEMMS = {**test_gemm.KERNELS, "deep": deep()}
PRODUCTS = test_product.KERNELS
ROWWISE = {
    **test_rowwise.SINGLE,
    "attention": test_rowwise.attention(),
    "mixed": test_rowwise.mixed(),
    "long slices": long_slices(),
    "many short slices": many_short_slices(),
    "reductions of inner": reductions_of_inner(),
    "large intermediate": large_intermediate(),
}


def schedules(kernel: Kernel, number: int) -> list[CudaSchedule]:
    """Up to three of the kernel's possible schedules, such that all kernels together have every schedule."""
    plan = gemm.plan_of(kernel)
    if plan:
        possible = list(gemm_schedules(plan[0], EMULATED))
        few = [s for s in possible if s.template == "few"]
        many = [s for s in possible if s.template == "many"]
        found = [few[number * 2 % len(few)], few[(number * 2 + 1) % len(few)]]
        return [*found, *([many[number % len(many)]] if many else [])]
    two = product.plan_of(kernel)
    if two and two[0].rows <= 8:
        return [product_schedule(two[0]), CudaSchedule("both", 2, 1 + number % 2)]
    if two:
        return [CudaSchedule("both", (2, 4, 8)[number % 3], 1), CudaSchedule("both", (8, 2, 4)[number % 3], 2)]
    return [emitted_for(kernel, G).schedule]


def many_rows() -> Kernel:
    """A product with so many rows for each instance that its tiles may be large, with odd extents."""
    b = Builder(param("x", G, 130, 43), param("w", S, 203, 43), param("b", S, 203))
    return b.kernel(b("relu", b("linear", "x", "w", "b")))


def test_many_rows_of_each_instance() -> None:
    kernel = many_rows()
    plan = gemm.plan_of(kernel)
    assert plan
    made = [emitted_for(kernel, G, s) for s in gemm_schedules(plan[0], EMULATED) if s.template == "many"]
    assert {e.schedule.panels for e in made} == {1, 2, 3, 4} and {e.schedule.rows for e in made} == {2, 4, 8, 12}
    built = Module(made, modes=("launches",))
    for number, emitted in enumerate(made):
        run = test_gemm.prepared(kernel, 1 + number % 2)
        check(run, execute(built, run, emitted, G, order=ORDERS[number % 3]), 5e-5)


@cache
def module(kind: str) -> tuple[Module, dict[str, list]]:
    """All kernels of a kind, built together."""
    kernels = {"gemm": GEMMS, "product": PRODUCTS, "rowwise": ROWWISE}[kind]
    made = {
        name: [
            (emitted_for(kernel, out_mode, s), out_mode) for s, out_mode in zip(schedules(kernel, i), (G, C, G), strict=False)
        ]
        for i, (name, kernel) in enumerate(kernels.items())
    }
    return Module([e for each in made.values() for e, _ in each], modes=("launches",)), made


@pytest.mark.parametrize("kind", ["gemm", "product", "rowwise"])
def test_results(kind: str) -> None:
    kernels = {"gemm": GEMMS, "product": PRODUCTS, "rowwise": ROWWISE}[kind]
    built, made = module(kind)
    tried = set()
    for number, (name, kernel) in enumerate(kernels.items()):
        for k, (emitted, out_mode) in enumerate(made[name]):
            tried.add((emitted.schedule.template, emitted.schedule.rows, emitted.schedule.panels, emitted.schedule.lanes))
            for rows in (0, 1, 2 + (number + k) % 12, *([40] if number % 5 == 0 else [])):
                run = test_gemm.prepared(kernel, rows) if kind == "gemm" else random_run(kernel, rows)
                order, odd = ORDERS[(number + rows) % 3], 3 * (rows % 2)
                try:
                    check(run, execute(built, run, emitted, out_mode, blocks=3 + rows % 3, order=order, odd=odd), 5e-5)
                except AssertionError as error:
                    raise AssertionError(f"{name}, {emitted.schedule}, {rows} rows, order {order}: {error}") from None
    if kind == "gemm":
        few = {(r, p, lanes) for t, r, p, lanes in tried if t == "few"}
        assert {r for r, _, _ in few} == {1, 2, 4, 8} and {(p, lanes) for _, p, lanes in few} == {
            (1, 32), (1, 16), (1, 8), (2, 8), (4, 8), (8, 8)}  # fmt: skip
        assert {(r, p) for t, r, p, _ in tried if t == "many"} == {(r, p) for r in (2, 4, 8) for p in (1, 2)}
    if kind == "product":
        assert {t for t, *_ in tried} == {"both", "dots", "columns"}
    if kind == "rowwise":
        plans = [plan_slices(many_short_slices()), plan_slices(long_slices())]
        assert [plan and plan.at_once for plan in plans] == [32, 1]
        assert {t for t, *_ in tried} >= {"elements", "slices", "general", "dots", "both"}


def test_reductions_softmax_and_attention_over_lists() -> None:
    kernels = test_segments.KERNELS
    made = {name: emitted_for(kernel, G) for name, kernel in kernels.items()}
    assert {e.schedule.template for e in made.values()} == {"elements", "general"}
    built = Module(list(made.values()), modes=("launches",))
    for number, (name, kernel) in enumerate(kernels.items()):
        run = test_segments.filled(kernel)
        check(run, execute(built, run, made[name], G, order=ORDERS[number % 3]))


def test_every_operation_has_its_text() -> None:
    """Without this test, a missing text would show only when a model uses the operation."""
    assert set(ELEMENTWISE) == {name for name, op in OPS.items() if op.fusion is Fusion.ELEMENTWISE}
    assert set(OVER_LISTS) == set(ITEMWISE)
    reductions = {name for name, op in OPS.items() if op.fusion is Fusion.REDUCTION}
    assert set(ALONG) | set(OVER_LISTS) | {"list_softmax", "list_attention"} == reductions


def test_intermediates_that_do_not_fit_lie_in_memory_of_the_block() -> None:
    text = emitted_for(large_intermediate(), G).code
    assert "ACROBAT_GLOBAL" in text.text
    assert text.shared_bytes == SHARED_HEADER
    assert "ACROBAT_GLOBAL" not in emitted_for(test_rowwise.attention(), G).code.text


def test_argmax_takes_the_first_of_equals_and_the_first_nan() -> None:
    """In slices that a warp reduces, and in longer ones that a block does."""
    kernels = [test_rowwise.one("argmax", (width,), dim=0) for width in (5, 1400)]
    emitted = [emitted_for(kernel, G) for kernel in kernels]
    built = Module(emitted, modes=("launches",))
    for kernel, each in zip(kernels, emitted, strict=True):
        run = random_run(kernel, 3)
        for x in run.operands["x0"]:
            x[:] = np.minimum(x, 1)
        run.operands["x0"][0][[2, 3, -1]] = 7
        run.operands["x0"][1][[3, -1]] = np.nan
        results = execute(built, run, each, G, order=7)
        assert [int(r[0]) for r in results[:2]] == [2, 3]


@pytest.mark.parametrize("name", ["few", "many", "elements", "slices"])
def test_a_walk_runs_steps_in_order(name: str) -> None:
    """The levels of a chain: the state of each row is computed from that of the level before, by two calls that share a
    barrier. Without barriers the results are wrong."""
    kernel = residual(32)
    if name in ("elements", "slices"):
        b = Builder(param("x", G, 40), param("s", G, 40))
        y = b("add", "x", "s")
        kernel = b.kernel(b("softmax", y, dim=0) if name == "slices" else y)
    # Several tiles for a row, so that blocks depend on others.
    schedule = {"few": CudaSchedule("few", 4, 1, 8), "many": CudaSchedule("many", 2, 1)}.get(name)
    chain = Chain(kernel, "s", emitted_for(kernel, G, schedule))
    assert chain.emitted.schedule.template == name
    built = Module([chain.emitted], modes=("walk",))
    for blocks, order in ((1, 1), (5, -1), (4, 7), (7, -1)):
        chain.check(built, blocks, order)
    with pytest.raises(AssertionError):
        chain.check(built, 7, -1, barriers=False)
