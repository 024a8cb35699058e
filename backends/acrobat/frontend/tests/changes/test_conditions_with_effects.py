"""Conditions with `and` and `or` whose operands change something: an operand has its effect where Python computes it, and only
there. These changes had been lost."""

# mypy: ignore-errors

from __future__ import annotations

from pathlib import Path

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2], [2, 2], [7, 7, 1, 0, 3, 3], [0]]


class Counter:
    def __init__(self):
        self.n = 0

    def bump(self, k):
        self.n += k
        return self.n


class OfLists(nn.Module):
    def forward(self, xs):
        ys = [*xs, 4, 5, 6]
        z = 0
        if (xs[0] > 2 and ys.pop() > 3) or ys.pop() > 1:
            z = 1
        return ys, z


class OfObjects(nn.Module):
    def forward(self, xs):
        s = Counter()
        z = 0
        if (xs[0] > 2 and s.bump(100) > 3) or s.bump(10) > 12:
            z = 1
        while (len(xs) > 2 and s.bump(1) < 7) or s.n < 5:
            s.bump(2)
        return s.n, z


class OfModules(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = 0

    def bump(self, k):
        self.seen += k
        return self.seen

    def forward(self, xs):
        self.seen = 0
        z = 0
        while xs[0] > 2 and self.bump(1) < 5:
            z += 1
        w = 3 if self.bump(2) > 4 and self.bump(3) > 5 else 4
        if xs[0] > 3 or self.bump(7) > 2:
            z += 10
        if not (xs[0] > 2 and self.bump(7) > 2 and self.bump(1) > 9):
            z += 100
        return self.seen, z, w


MODELS = [OfLists, OfObjects, OfModules]


@pytest.mark.parametrize("model", MODELS)
def test_as_in_python(model) -> None:
    agrees(model(), LISTS)


def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(OfModules(), LISTS, codegen, tmp_path)
