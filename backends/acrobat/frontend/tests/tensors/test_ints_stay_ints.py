"""Operations on tensors of ints that give ints: parts that a mask chooses are assigned to, sums and extrema that keep their
dimension. Against eager PyTorch, in the interpreter; `agrees` also tells ints from floats."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, assert_same, with_forward

LISTS = [[3, 1, 2], [5, 6], [7, 8, 9, 2, 3], [4], [6, 6, 0, 1]]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)


def chosen_by_a_mask(self, xs):
    x = self.e.weight[:6] + self.e.weight[xs[0]]
    g = torch.arange(6).view(1, 6).repeat([3, 1])
    g[torch.cdist(x[:3], x) > 3.0] = 6
    line, zeros = torch.arange(6), torch.zeros(2, 3, dtype=torch.long)
    line[x[:, 0] > 0] = len(xs)
    zeros[torch.eye(2, 3) > 0] = xs[0]
    return g, g.sort(dim=-1)[0][:, :2], line, zeros


def kept_dimensions(self, xs):
    w = self.e.weight[torch.tensor(xs)]
    places, best = w.argmax(-1), w.topk(2, dim=1)[1]
    of_one = places.sum(0, keepdim=True), places.max(0, keepdim=True)[0], places.amax(0, keepdim=True), places.sum(0, False)
    return *of_one, best.sum(0, keepdim=True), best.sum(1, keepdim=True), best.max(1, keepdim=True)[0], best.sum(1)


@pytest.mark.parametrize("forward", [chosen_by_a_mask, kept_dimensions], ids=lambda f: f.__name__)
def test_ints(forward):
    agrees(with_forward(Model(), forward), LISTS)


def test_a_float_is_not_put_among_ints() -> None:
    def forward(self, xs):
        g = torch.arange(6).view(2, 3)
        g[g > len(xs)] = 2.5
        return g

    with pytest.raises(CompileError, match="what is put among ints is an int"):
        build(with_forward(Model(), forward), sample=LISTS)


def test_the_comparison_tells_ints_from_floats() -> None:
    with pytest.raises(AssertionError, match=r"a tensor of torch\.float64, eager torch\.int64"):
        assert_same(torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.int64), "instance 0")
