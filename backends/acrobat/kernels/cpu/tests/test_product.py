from __future__ import annotations

import pytest

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu.tests.support import TARGETS, Builder, check, execute, param, random_run
from backends.acrobat.kernels.fusible import is_gemm, is_product

G, S, C, L = Mode.GATHERED, Mode.SHARED, Mode.CONTIGUOUS, Mode.LIST


def matmul(left: tuple[int, ...], right: tuple[int, ...], mode: Mode = G) -> Kernel:
    b = Builder(param("a", G, *left), param("b", mode, *right))
    return b.kernel(b("matmul", "a", "b"))


def scores(heads: int, length: int, depth: int) -> Kernel:
    """Queries times keys, scaled."""
    b = Builder(param("q", G, heads, length, depth), param("k", G, heads, length, depth))
    return b.kernel(b("mul", b("matmul", "q", b("permute", "k", dims=(0, 2, 1))), 0.125))


def context(heads: int, length: int, depth: int) -> Kernel:
    """Attention times values, heads side by side."""
    b = Builder(param("s", G, heads, length, length), param("v", G, heads, length, depth))
    side_by_side = b("permute", b("matmul", "s", "v"), dims=(1, 0, 2))
    return b.kernel(b("reshape", side_by_side, shape=(length, heads * depth)))


def linear(inputs: int, outputs: int, rows: int = 0, bias: Mode | None = G) -> Kernel:
    """`linear` whose weight is not shared."""
    x = (rows, inputs) if rows else (inputs,)
    b = Builder(param("x", C, *x), param("w", G, outputs, inputs), *([param("b", bias, outputs)] if bias else []))
    return b.kernel(b("relu", b("linear", "x", "w", *(["b"] if bias else []))))


def tail() -> Kernel:
    """A matrix times a vector, with an epilogue over all kinds of operands and two results."""
    b = Builder(param("m", G, 37, 21), param("v", G, 21), param("x", C, 37), param("xs", L, 37), param("w", S, 37))
    y = b("tanh", b("add", b("matmul", "m", "v"), "w"))
    return b.kernel(b("mul", b("sigmoid", y), "x"), b("add", y, b("list_sum", "xs")))


KERNELS = {
    "matrix vector": matmul((64, 64), (64,)),
    "matrix vector, odd": matmul((37, 21), (21,)),
    "matrix column": matmul((20, 33), (33, 1)),
    "vector matrix": matmul((21,), (21, 37)),
    "vector transposed": matmul((64,), (64, 128), C),
    "matrices": matmul((13, 17), (17, 50)),
    "matrices, shared": matmul((9, 16), (16, 32), S),
    "batched": matmul((3, 11, 8), (3, 8, 20)),
    "batch broadcast": matmul((3, 11, 8), (8, 20)),
    "dot": matmul((40,), (40,)),
    "scores": scores(3, 18, 24),
    "scores, even": scores(2, 32, 16),
    "context": context(3, 20, 16),
    "linear": linear(30, 50),
    "linear, rows": linear(16, 40, rows=9, bias=S),
    "linear, two rows": linear(33, 7, rows=2, bias=None),
    "tail": tail(),
}


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.mcpu)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_products(kernel: Kernel, target):
    assert is_product(kernel)
    assert not is_gemm(kernel)
    for rows, out_mode in ((1, G), (3, C), (4, G)):
        run = random_run(kernel, rows)
        check(run, execute(run, out_mode, target))


def test_rows_and_heads_in_pieces():
    run = random_run(scores(3, 18, 24), 4)
    pieces = [(0, 3, 1, 3), (3, 4, 1, 2), (0, 4, 0, 1), (3, 4, 2, 3)]
    check(run, execute(run, pieces=pieces))


def test_heads_that_are_no_plain_view_are_left_to_the_general_template():
    b = Builder(param("a", G, 4, 6), param("b", G, 4, 6), param("c", G, 6, 5))
    kernel = b.kernel(b("matmul", b("cat", "a", "b", dim=0), "c"))
    assert not is_product(kernel)
    run = random_run(kernel, 2)
    check(run, execute(run))
