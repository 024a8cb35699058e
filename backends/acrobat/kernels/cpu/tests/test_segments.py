"""Reductions, softmax-weighted sums and attention over lists of any length, against their meaning in float64."""

from __future__ import annotations

import numpy as np
import pytest

from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu.segments import CHUNK
from backends.acrobat.kernels.cpu.shared_attention import FEWEST, KEYS, MOST, TILE
from backends.acrobat.kernels.cpu.tests.support import TARGETS, Builder, Run, check, execute, param, random_run

LENGTHS = (0, 1, 2, 5, 8, 9, 17, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 3)


def attention(heads: tuple[int, ...], width: int, out: int, query: Mode = Mode.GATHERED) -> Kernel:
    b = Builder(param("q", query, *heads, width), param("ks", Mode.LIST, *heads, width), param("vs", Mode.LIST, *heads, out))
    return b.kernel(b("list_attention", "q", "ks", "vs", scale=0.37))


def softmax(scores: tuple[int, ...], values: tuple[int, ...]) -> Kernel:
    b = Builder(param("xs", Mode.LIST, *scores), param("vs", Mode.LIST, *values))
    return b.kernel(b("list_softmax", "xs", "vs"))


def highest() -> Kernel:
    b = Builder(param("xs", Mode.LIST, 3, 20), param("y", Mode.GATHERED, 20))
    return b.kernel(b("add", b("list_max", "xs", nonempty=False), "y"), b("list_min", "xs", nonempty=False))


KERNELS = {
    "dot": attention((), 64, 64),
    "narrow": attention((), 5, 3),
    "wide": attention((), 136, 300),
    "heads": attention((4,), 16, 24, Mode.CONTIGUOUS),
    "heads of heads, shared": attention((2, 3), 20, 8, Mode.SHARED),
    "one score": softmax((), (20,)),
    "a score for each line": softmax((3, 1), (3, 40)),
    "a score for each element": softmax((17,), (17,)),
    "extremes": highest(),
}


def filled(kernel: Kernel, seed: int = 0) -> Run:
    """A run with one row for each of LENGTHS, whose lists have that length."""
    run = random_run(kernel, len(LENGTHS), seed)
    rng = np.random.default_rng(seed)
    for p in kernel.params:
        if p.mode is Mode.LIST:
            run.operands[p.name] = [[rng.standard_normal(p.type.shape).astype(np.float32) for _ in range(n)] for n in LENGTHS]
    return run


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.mcpu)
@pytest.mark.parametrize("name", KERNELS)
def test_lists_of_every_length(name: str, target) -> None:
    run = filled(KERNELS[name])
    for out_mode in (Mode.GATHERED, Mode.CONTIGUOUS) if name == "dot" else (Mode.GATHERED,):
        check(run, execute(run, out_mode, target, pieces=[(4, len(LENGTHS), 0, 1), (0, 4, 0, 1)]))


def test_scores_that_are_masked_large_or_no_numbers() -> None:
    run = random_run(softmax((), (4,)), 6)
    inf, nan = np.inf, np.nan
    masked = [-inf] * (CHUNK + 1)  # the first chunk has no score at all
    scores = [[-inf, 1.0], [-inf, -inf], [1e30, 1e30, -1e30], [nan, 1.0], [inf, 0.0], [*masked, 2.0, 3.0]]
    run.operands["xs"] = [[np.float32(x).reshape(()) for x in row] for row in scores]
    run.operands["vs"] = [[np.full(4, i, np.float32) for i in range(len(row))] for row in scores]
    results = execute(run)
    check(run, results)
    assert [bool(np.isnan(r[0]).any()) for r in results] == [False, True, False, True, True, False]


SHARED = (
    *((1, 9), (FEWEST - 1, 20), (FEWEST, 3), (2 * TILE + 1, 17), (FEWEST + 1, 0), (TILE + 2, CHUNK + 5), (MOST + 6, 30)),
    *((n, 13) for n in range(FEWEST, 36, 3)),
    *((TILE, n) for n in range(1, 2 * KEYS + 1)),
)
"""Pairs of a number of rows that share their lists, and the length of these lists. They come to blocks of queries and
tiles of keys of all sizes."""


def with_shared_lists(kernel: Kernel) -> Run:
    """Runs of rows that share all their lists, and after each two rows whose lists are only almost the same."""
    run = random_run(kernel, sum(rows + 2 for rows, _ in SHARED))
    rng = np.random.default_rng(1)
    for name in (p.name for p in kernel.params if p.mode is Mode.LIST):
        shape = next(p.type.shape for p in kernel.params if p.name == name)
        lists: list[list[np.ndarray]] = []
        for rows, length in SHARED:
            items = [rng.standard_normal(shape).astype(np.float32) for _ in range(length)]
            other = rng.standard_normal(shape).astype(np.float32)
            lists += [items] * rows
            lists += [[*items[: length // 2], other, *items[length // 2 + 1 :]], [*items[:-1], other]]
        run.operands[name] = lists
    return run


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.mcpu)
@pytest.mark.parametrize("name", ["dot", "narrow", "wide", "heads"])
def test_rows_that_share_their_lists(name: str, target) -> None:
    """Tiles of queries, runs that end anywhere, and lists that differ in one item only."""
    run = with_shared_lists(KERNELS[name])
    check(run, execute(run, Mode.GATHERED, target, pieces=[(0, 30, 0, 1), (30, run.rows, 0, 1)]))


def test_one_list_differs_though_the_other_is_shared() -> None:
    run = with_shared_lists(KERNELS["dot"])
    rng = np.random.default_rng(2)
    run.operands["vs"] = [[rng.standard_normal(64).astype(np.float32) for _ in keys] for keys in run.operands["ks"]]
    check(run, execute(run))


def test_scores_of_shared_lists_that_are_large_or_no_numbers() -> None:
    run = with_shared_lists(KERNELS["dot"])
    for row, value in ((4, 1e30), (12, np.nan), (14, np.inf)):
        run.operands["q"][row] = np.full(64, value, np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        check(run, execute(run))
