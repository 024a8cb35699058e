"""Functions that change an argument which is one of two lists, or a part of what another expression gives."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees

LISTS = [[1, 2, 3], [4], [2, 2, 0, 1], [5, 5, 1]]


def put(c, x):
    c[0] = x
    return x


def append(c, x):
    c.append(x)
    return len(c)


class Chosen(nn.Module):
    def forward(self, xs):
        a, b = [0, 1], [1, 2]
        y = put(a if len(xs) > 2 else b, xs[0] + 10)
        return a[0], b[0], y


class ChosenInRounds(nn.Module):
    def forward(self, xs):
        a, b = list(xs), [3]
        lengths = [append(a if x % 2 else b, x) for x in xs]
        return a, b, lengths


class FirstOrSecond(nn.Module):
    def forward(self, xs):
        a = [1] if xs[0] > 1 else []
        k = append(a or [2, 2], 3)
        m = append([1] if k > 2 else [4, 5], 3)
        return a, k, m


class RowOfOne(nn.Module):
    def forward(self, xs):
        a, b = [[0], [1]], [[1], [2]]
        for x in xs:
            append((a if x % 2 else b)[0], x)
        return a, b


class PartOfADisplay(nn.Module):
    def forward(self, xs):
        a, b = [0], [1]
        for x in xs:
            append([a, b][x % 2], x)
            append([a[:], b[:]][x % 2], x)
        return a, b


class PartOfAResult(nn.Module):
    def rows(self):
        return self.t

    def forward(self, xs):
        self.t = [[0], [1]]
        for x in xs:
            append(self.rows()[0], x)
        return list(self.t)


MODELS = [Chosen, ChosenInRounds, FirstOrSecond, RowOfOne, PartOfADisplay, PartOfAResult]


@pytest.mark.parametrize("model", MODELS)
def test_as_in_python(model):
    agrees(model(), LISTS)
