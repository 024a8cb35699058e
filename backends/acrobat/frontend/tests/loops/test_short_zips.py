"""`zip` of modules and of lists that may be shorter than the modules are many: it ends with the shortest, as in Python."""

# ruff: noqa: B905 (`zip` of arguments of several lengths is what is tested)

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[1, 2], [1], [], [1, 2, 3], [3, 2, 1, 0], [2, 2, 2]]


class Modules(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(6, 4)
        self.us = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.cells = nn.ModuleList([nn.GRUCell(4, 4) for _ in range(3)])

    def first_two(self, xs):
        for k, (x, u) in enumerate(zip(xs, self.us)):
            if x == 2:
                return u(self.e.weight[k])
            if x == 3:
                continue
        return self.e.weight[0]


def children(self, xs):
    total = self.e.weight[0]
    for u, (h, _) in zip(self.us, [(self.e.weight[x], x) for x in xs]):
        total = total + u(h)
    return total


def comprehensions(self, xs):
    hs = [u(self.e.weight[x]) for u, x in zip(self.us, xs)]
    rows = [u.weight[x] for u, x in zip(self.us, xs) if x > 0]
    return hs, rows, len(hs), sum(k * x for k, (_, x) in enumerate(zip(self.us, xs), 1))


def left_early(self, xs):
    h = self.e.weight[0]
    for u, x, following in zip(self.us, xs, xs[1:]):
        if x == 2:
            break
        h = u(h) + self.e.weight[following]
    else:
        h = h * 2
    return h, self.first_two(xs)


def stacked(self, xs):
    states = [torch.zeros(4) for _ in self.cells]
    h = self.e.weight[0]
    for x in xs:
        h, new = self.e(torch.tensor(x)), []
        for cell, u, state in zip(self.cells, self.us, states):
            h = cell(h, state)
            new.append(h)
            h = u(h)
        states = new
    return torch.stack(states), h


CASES = [children, comprehensions, left_early, stacked]


@pytest.mark.parametrize("function", CASES)
def test_as_eager(function: Any) -> None:
    agrees(with_forward(Modules(), function), LISTS)


def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Modules(), left_early), LISTS, codegen, tmp_path)
