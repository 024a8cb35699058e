"""Equal steps of a static block become one launch: which steps, with how many rows, and with the same results."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile
from backends.acrobat.options import Options
from backends.acrobat.tests.support import assert_same, draw, eager, edges, tiny

WIDTH = 16
APART = Options(merge_steps=False)


@dataclass(frozen=True, slots=True)
class Two:
    left: Annotated[Tensor, WIDTH]
    right: Annotated[Tensor, WIDTH]


class Steps(nn.Module):
    """Two independent steps, one that uses the result of the first, and two whose results leave the block."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.cell = nn.Linear(WIDTH, WIDTH)
        self.other = nn.Linear(WIDTH, WIDTH)
        self.top = nn.Linear(2 * WIDTH, 3)

    def forward(self, two: Two) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        left, right = self.step(two.left), self.step(two.right)
        further = self.step(left)
        first, second = torch.sigmoid(self.other(left)), torch.sigmoid(self.other(right))
        return self.top(torch.cat((left, right))), further, first, second

    def step(self, x: Tensor) -> Tensor:
        return torch.tanh(self.cell(x))


def pairs(n: int) -> list[Two]:
    torch.manual_seed(1)
    return [Two(torch.randn(WIDTH), torch.randn(WIDTH)) for _ in range(n)]


@pytest.mark.parametrize("threads", [1, 2])
def test_equal_steps_of_one_level_are_one_launch(cache: Path, codegen: Any, threads: int) -> None:
    """`left` and `right` merge, and `first` and `second`. `further` has the same kernel as `left` but uses its result."""
    model, options = Steps(), Options(codegen=codegen, horizontal=False)  # which would pack the two products of `left`
    merged, apart = (
        compile(model, options=replace(options, merge_steps=on), threads=threads, cache_folder=cache, checked=True)
        for on in (True, False)
    )
    instances = pairs(41)
    want = eager(copy.deepcopy(model).double(), instances)
    rows = [Counter(rows for *_, rows in executable.schedule(instances)) for executable in (merged, apart)]
    assert rows == [{2 * 41: 2, 41: 2}, {41: 6}]
    for executable in (merged, apart):
        assert_same(executable(instances), want)
        assert_same(executable(instances[:1]), want[:1])
    assert merged.counters()["product_flops"] == apart.counters()["product_flops"]
    assert merged.counters()["batches"] == apart.counters()["batches"]


def test_a_merged_step_on_two_threads(cache: Path) -> None:
    """A step of few rows is shared by all threads. What they have in common was once made by each of them, in the same room, so
    that they read each other's tables while these were written."""
    model = tiny("mvrnn")
    alone, shared = (compile(model, threads=threads, cache_folder=cache) for threads in (1, 2))
    instances = draw("mvrnn", 40)
    want = alone(instances)
    for _ in range(100):
        for mine, other in zip(shared(instances), want, strict=True):
            torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["mvrnn", "drnn", "nestedrnn", "treelstm"])
def test_kernels_are_called_with_finished_tables(built: Any, name: str) -> None:
    """Whatever takes room from a worker stands before the step: the call itself runs on several threads."""
    lines = built(name).source.read_text().splitlines()
    calls = [line for line in lines if "row_begin, row_end, part_begin, part_end, " in line]
    assert calls
    assert not [line for line in calls if "worker." in line]


def test_mvrnns_two_products_are_one_launch(built: Any) -> None:
    """The pair of equal products is that of the original ACRoBat: each child's matrix with its sibling's vector."""
    instances = [*draw("mvrnn", 5), *edges("mvrnn")]
    want = eager(tiny("mvrnn", torch.float64), instances)
    merged, apart = built("mvrnn"), built("mvrnn", options=APART)
    for executable in (merged, apart):
        assert_same(executable(instances), want)
    now, before = merged.counters(), apart.counters()
    assert now["batches"] == before["batches"] and now["nodes"] == before["nodes"]
    assert before["launches"] - now["launches"] == now["batches"] - 1  # one for each height; the classifier has no pair
    assert now["product_flops"] == before["product_flops"]
