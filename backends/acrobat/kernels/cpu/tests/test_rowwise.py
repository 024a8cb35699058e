from __future__ import annotations

import numpy as np
import pytest

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu.tests.support import TARGETS, Builder, check, execute, param, random_run
from backends.acrobat.kernels.fusible import is_gemm, is_product

G, S, C, L = Mode.GATHERED, Mode.SHARED, Mode.CONTIGUOUS, Mode.LIST


def one(op: str, *shapes: tuple[int, ...], **attrs: object) -> Kernel:
    b = Builder(*(param(f"x{i}", G, *s) for i, s in enumerate(shapes)))
    return b.kernel(b(op, *(f"x{i}" for i in range(len(shapes))), **attrs))


SINGLE = {
    "add": one("add", (3, 20), (3, 20)),
    "broadcast": one("mul", (3, 20), (20,)),
    "column": one("sub", (3, 20), (3, 1)),
    "scalars": one("div", (), ()),
    "maximum": one("maximum", (37,), (37,)),
    "minimum": one("minimum", (2, 3, 5), (3, 1)),
    "neg": one("neg", (1,)),
    "sigmoid": one("sigmoid", (100,)),
    "tanh": one("tanh", (64,)),
    "relu": one("relu", (5,)),
    "gelu": one("gelu", (131,)),
    "exp": one("exp", (50,)),
    "softmax": one("softmax", (4, 37), dim=1),
    "softmax 5": one("softmax", (5,), dim=0),
    "softmax inner": one("softmax", (9, 20), dim=0),
    "softmax 128": one("softmax", (2, 128), dim=1),
    "argmax": one("argmax", (5,), dim=0),
    "argmax 100": one("argmax", (2, 100), dim=1),
    "argmax inner": one("argmax", (7, 3), dim=0),
    "layer_norm": one("layer_norm", (3, 100), (100,), (100,), eps=1e-5),
    "sum": one("sum", (3, 100), dim=1),
    "sum first": one("sum", (6, 50), dim=0),
    "sum kept": one("sum", (6, 5, 40), dim=1, keepdim=True),
    "mean": one("mean", (3, 100), dim=1, keepdim=True),
    "mean first": one("mean", (6, 50), dim=0),
    "max": one("max", (4, 33), dim=1),
    "max first": one("max", (4, 33), dim=0),
    "cat": one("cat", (3, 5), (3, 17), dim=1),
    "cat first": one("cat", (2, 5), (1, 5), (3, 5), dim=0),
    "stack": one("stack", (20,), (20,), dim=0),
    "stack last": one("stack", (20,), (20,), (20,), dim=1),
    "slice": one("slice", (7, 30), dim=1, start=3, stop=25),
    "index": one("index", (7, 30), dim=0, i=4),
    "index last": one("index", (7, 30), dim=1, i=4),
    "reshape": one("reshape", (6, 10), shape=(4, 15)),
    "permute": one("permute", (3, 4, 20), dims=(2, 0, 1)),
    "matmul": one("matmul", (5, 7), (7, 19)),
    "matmul batched": one("matmul", (2, 1, 5, 7), (3, 7, 4)),
    "matvec": one("matmul", (19, 23), (23,)),
    "vecmat": one("matmul", (23,), (23, 19)),
    "dot": one("matmul", (40,), (40,)),
    "linear": one("linear", (3, 21), (18, 21), (18,)),
}


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.mcpu)
@pytest.mark.parametrize("kernel", SINGLE.values(), ids=SINGLE)
def test_each_operation(kernel: Kernel, target):
    for rows in (0, 1, 3):
        run = random_run(kernel, rows)
        check(run, execute(run, target=target))


@pytest.mark.parametrize("op", ["log", "sqrt"])
def test_positive_operands(op: str):
    kernel = one(op, (40,))
    run = random_run(kernel, 3)
    run.operands["x0"] = [np.abs(x) + np.float32(0.01) for x in run.operands["x0"]]
    check(run, execute(run))


def test_full_and_literals():
    b = Builder(param("x", G, 20))
    ones = b("full", shape=(20,), value=2.5)
    run = random_run(b.kernel(b("sub", b("mul", "x", 3.0), ones), ones), 2)
    check(run, execute(run))


def attention() -> Kernel:
    """Softmax of a product, times another: two products, so no template takes it as a whole."""
    b = Builder(param("q", G, 2, 9, 8), param("k", G, 2, 9, 8), param("v", G, 2, 9, 8))
    scores = b("matmul", b("mul", "q", 0.35), b("permute", "k", dims=(0, 2, 1)))
    context = b("matmul", b("softmax", scores, dim=2), "v")
    return b.kernel(b("reshape", b("permute", context, dims=(1, 0, 2)), shape=(9, 16)))


def mixed() -> Kernel:
    """Values used twice, a param as a result, the same result twice, an int64 among moves."""
    b = Builder(param("x", C, 6, 20), param("w", S, 20), param("xs", L, 6, 20))
    y = b("sigmoid", b("add", "x", "w"))
    total = b("list_sum", "xs")
    z = b("mul", y, b("tanh", b("add", total, y)))
    best = b("argmax", z, dim=1)
    return b.kernel(y, z, "x", b("permute", z, dims=(1, 0)), z, best, b("slice", best, dim=0, start=1, stop=4))


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.mcpu)
@pytest.mark.parametrize("out_mode", [G, C])
@pytest.mark.parametrize("kernel", [attention(), mixed()], ids=["attention", "mixed"])
def test_several_operations(kernel: Kernel, out_mode: Mode, target):
    assert not is_gemm(kernel)
    assert not is_product(kernel)
    for rows in (1, 2, 5):
        run = random_run(kernel, rows)
        check(run, execute(run, out_mode, target))


def test_rows_in_pieces():
    run = random_run(mixed(), 7)
    check(run, execute(run, pieces=[(3, 7, 0, 1), (0, 2, 0, 1), (2, 3, 0, 1)]))


def test_sum_of_no_items():
    b = Builder(param("xs", L, 20))
    run = random_run(b.kernel(b("list_sum", "xs")), 3)
    run.operands["xs"][1] = []
    results = execute(run)
    check(run, results)
    assert not results[1][0].any()


def test_argmax_takes_the_first_of_equals_and_the_first_nan():
    for width in (5, 70):
        kernel = one("argmax", (width,), dim=0)
        run = random_run(kernel, 3)
        for x in run.operands["x0"]:
            x[:] = np.minimum(x, 1)
        run.operands["x0"][0][[2, 3, width - 1]] = 7
        run.operands["x0"][1][3] = np.nan
        results = execute(run)
        assert results[0][0] == 2
        assert results[1][0] == 3
