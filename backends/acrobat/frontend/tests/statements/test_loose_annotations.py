"""Annotations of local variables that their first value is not of, which Python does not look at either; and lists of what is
None at first. Against eager PyTorch, in the interpreter."""

# mypy: ignore-errors
from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3, 1, 2], [5, 6], [7, 8, 9, 2, 3], [4], [6, 6, 0, 1]]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)


def lists_of_none(self, xs):
    best: list[list[float]] = [None] * (len(xs) + 1)
    states: list[Tensor] = [None] * len(xs)
    for j, x in enumerate(xs):
        best[j + 1] = [-math.inf] * 3
        best[j + 1][1] = float(x)
        states[j] = self.e.weight[x]
    return best[1:], torch.stack(states)


def none_at_first(self, xs):
    h: Tensor = None
    n: int = None
    for x in xs:
        h = self.e.weight[x] if h is None else h + self.e.weight[x]
        n = x if n is None else n + x
    return h, n


def lists_in_lists_of_none(self, xs):
    best = [None] * (len(xs) + 1)
    for j in range(1, len(xs) + 1):
        best[j] = []
        for y in range(2):
            top = None
            for i in range(max(0, j - 2), j):
                if y == 0 and j - i > 1:
                    continue
                total = self.e.weight[xs[i]].sum()
                if i > 0:
                    total = total + torch.stack(best[i]).max() * 0.5
                if top is None or total > top:
                    top = total
            best[j].append(top)
    return torch.stack(best[len(xs)])


def left_at_once(self, xs):
    """A loop with `else` whose own body ends in `break`."""
    found = []
    for x in xs:
        for y in range(x, 10):
            if y % 3:
                continue
            found.append(y)
            break
        else:
            found.append(-1)
    return found, self.e.weight[len(found)]


FORWARDS = [lists_of_none, none_at_first, lists_in_lists_of_none, left_at_once]


@pytest.mark.parametrize("forward", FORWARDS, ids=lambda f: f.__name__)
def test_as_in_eager_pytorch(forward):
    agrees(with_forward(Model(), forward), LISTS)
