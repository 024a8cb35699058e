"""The functions of `operator`: called, chosen at run time, given to `map` and `reduce`. Against eager PyTorch, in the
interpreter."""

# mypy: ignore-errors
from __future__ import annotations

import functools
import operator

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3, 1, 2], [5, 6], [7, 8, 9, 2, 3], [4], [6, 6, 0, 1]]
CONDITIONS = [operator.eq, operator.gt, operator.lt]
BY_NAME = {"=": operator.eq, ">": operator.gt, "<": operator.lt}
TOTALS = [None, max, min, len, sum]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)

    def find(self, xs):
        return xs[0] if xs[0] > 4 else None


def called(self, xs):
    x, y = xs[0], xs[0] > 3
    numbers = [operator.xor(x, 5), operator.pow(x, 2), operator.lshift(x, 1), operator.and_(x, 6), ~x, ~y]
    tests = [
        operator.contains(xs, 3),
        operator.not_(y),
        operator.ne(x, 3),
        operator.and_(y, True),
        operator.is_(self.find(xs), None),
    ]
    return numbers, tests, operator.getitem(xs, 0), operator.gt(self.e.weight[x], 0), operator.getitem(self.e.weight, x)


def given(self, xs):
    y = [x > 3 for x in xs]
    pairs = list(map(operator.lt, xs, xs[1:]))
    return functools.reduce(operator.xor, xs), functools.reduce(operator.or_, y), pairs, self.e.weight[xs[0]]


def chosen(self, xs):
    rows = [all(CONDITIONS[op](x, value) for op, value in [(v % 3, v) for v in xs]) for x in xs]
    return rows, [BY_NAME["=><"[x % 3]](x, 4) for x in xs], TOTALS[xs[0] % 4 + 1](xs), self.e.weight[xs[0]]


@pytest.mark.parametrize("forward", [called, given, chosen], ids=lambda f: f.__name__)
def test_as_in_eager_pytorch(forward):
    agrees(with_forward(Model(), forward), LISTS)
