"""`len` of lists of which each element is known, and loops that replace the current item of a list in an attribute."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.cells = nn.ModuleList([nn.GRUCell(6 if i == 0 else 8, 8) for i in range(2)])


def rows(n):
    torch.manual_seed(n)
    return torch.randn(n, 6)


ROWS = [rows(3), rows(1), rows(5)]


def residual(self, x):
    """The input of the first layer has another width than that of the others."""
    states = [torch.zeros(8) for _ in self.cells]
    for row in x:
        new, z = [], row
        for cell, h in zip(self.cells, states, strict=False):
            h = cell(z, h)
            new.append(h)
            z = h if len(new) == 1 else z + h
        states = new
    return z, torch.stack(states)


def in_a_function(self, x):
    def advance(z, states):
        new = []
        for cell, h in zip(self.cells, states, strict=False):
            h = cell(z, h)
            new.append(h)
            z = h if len(new) == 1 else z + h
        return z, new

    z, states = advance(x[0], [torch.zeros(8) for _ in self.cells])
    for row in x:
        z, states = advance(row, states)
    return z, torch.stack(states)


class Cache:
    def __init__(self, count):
        self.keys = [None] * count
        self.values = [None] * count

    def update(self, i, k, v):
        if self.keys[i] is not None:
            k, v = torch.cat([self.keys[i], k]), torch.cat([self.values[i], v])
        self.keys[i], self.values[i] = k, v

    def crop(self, length):
        for i, k in enumerate(self.keys):
            if k is not None and k.size(0) > length:
                self.keys[i] = k[:length]
                self.values[i] = self.values[i][:length]


def cropped(self, x):
    cache = Cache(2)
    for i in range(3):
        cache.update(i % 2, x, x * 2)
        cache.crop(4)
    return cache.keys, cache.values


class Scores:
    def __init__(self, scores):
        self.scores = list(scores)

    def halve(self):
        for i, s in enumerate(self.scores):
            if s > 0:
                self.scores[i] = s * 0.5
        return self


def halved(self, x):
    scores = Scores(x[:, 0].tolist())
    return scores.halve().halve().scores


@pytest.mark.parametrize("forward", [residual, in_a_function, cropped, halved])
def test_as_in_pytorch(forward):
    agrees(with_forward(Model(), forward), ROWS)
