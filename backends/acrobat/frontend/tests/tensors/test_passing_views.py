"""Tensors that are changed in place although views of them were computed with, which nothing keeps; and views that something
keeps, after which they are not changed. Against eager PyTorch, in the interpreter."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3, 1, 2], [5, 6], [7, 8, 9, 2, 3], [4], [6, 6, 0, 1]]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)
        self.lin = nn.Linear(4, 4)

    def rows(self, xs):
        return self.e.weight[torch.tensor(xs)].clone()

    def nearest(self, xs):
        return (self.rows(xs) @ self.e.weight.t()).topk(3, dim=1)[1]


def operands(self, xs):
    x = self.e.weight[torch.tensor(xs)].clone()
    y, z, w = x.view(-1, 2) * 2, -x.t(), x.unsqueeze(0) > 0
    x[0] = 1.0
    return x, y, z, w


def receivers(self, xs):
    x = self.e.weight[torch.tensor(xs)].clone()
    y, z, w = x.t().sum(0), x.unsqueeze(0).softmax(-1), x.t()[0].view(-1, 1).repeat(1, 2)
    x[0] = 1.0
    return x, y, z, w


def arguments(self, xs):
    x, ys = torch.zeros(4), []
    for v in xs:
        ys.append(self.lin(x.view(1, 4)).squeeze(0) + torch.matmul(x.view(1, 4), self.lin.weight).flatten())
        x[0] += self.e.weight[v].sum()
    return ys


def chart(self, xs):
    self.scores = self.e.weight.new(len(xs), len(xs), 4).fill_(-1.0)
    for i, x in enumerate(xs):
        self.scores[i, i, :2] = self.e.weight[x, 2:]
    for i in range(len(xs) - 1):
        pairs = self.scores[i, i, :2].unsqueeze(1) + self.scores[i + 1, i + 1, :2].unsqueeze(0)
        self.scores[i, i + 1, 2] = pairs.reshape(-1).max(0)[0]
    return self.scores[0].sum(), self.scores[0, 0]


@pytest.mark.parametrize("forward", [operands, receivers, arguments, chart], ids=lambda f: f.__name__)
def test_views_that_nothing_keeps(forward):
    agrees(with_forward(Model(), forward), LISTS)


def named(self, xs):
    x = self.e.weight[torch.tensor(xs)].clone()
    y = x.view(-1, 2)
    x[0] = 1.0
    return x, y * 2


def in_a_tuple(self, xs):
    x = self.e.weight[torch.tensor(xs)].clone()
    y = (*x.chunk(2, dim=1), x)
    x[0] = 1.0
    return y


def joined_to_a_tuple(self, xs):
    x = self.e.weight[torch.tensor(xs)].clone()
    y = x.chunk(2, dim=1) + (x,)  # noqa: RUF005 (an operation whose result has the views in it)
    x[0] = 1.0
    return y


def view_of_a_view(self, xs):
    x = self.e.weight[torch.tensor(xs)].clone()
    y = x.view(-1, 2).view(-1, 4)[0]
    x[0] = 1.0
    return y


def appended(self, xs):
    x, ys = torch.zeros(4), []
    for v in xs:
        ys.append(x.view(2, 2))
        x += self.e.weight[v]
    return ys


@pytest.mark.parametrize("forward", [named, in_a_tuple, joined_to_a_tuple, view_of_a_view, appended], ids=lambda f: f.__name__)
def test_views_that_are_kept(forward):
    with pytest.raises(CompileError, match=r"under (another name|other names)|seen elsewhere"):
        build(with_forward(Model(), forward), sample=LISTS)


# ---- masks that choose the same places of two tensors


def same_places(self, xs):
    x, y = self.rows(xs), self.rows(xs) * 2
    mask = x > 0
    x[mask] = y[mask]
    parts = x[:, 0] > 0
    x[parts] = y[parts]
    chosen = y[mask]
    y = y - 1
    x[mask] = chosen
    return x, y


def same_places_of_ints(self, xs):
    i = self.nearest(xs)[:, :2] + 0
    first, mask = i[:, 0].view(-1, 1).repeat(1, 2), i > 5
    i[mask] = first[mask]
    return i


def view_of_new_ints(self, xs):
    i = (self.rows(xs) @ self.e.weight.t()).topk(3, dim=1)[1][:, :2]
    i[i > 5] = 0
    return i


@pytest.mark.parametrize("forward", [same_places, same_places_of_ints, view_of_new_ints], ids=lambda f: f.__name__)
def test_masks_that_choose_places(forward):
    agrees(with_forward(Model(), forward), LISTS)
