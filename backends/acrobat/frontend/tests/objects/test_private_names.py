"""Attributes with private names, which begin with two underscores: of modules, of classes that the model makes, and of classes
that derive from one with an equal name of its own. Against eager PyTorch, in the interpreter."""

# mypy: ignore-errors
from __future__ import annotations

import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees


class Walk:
    __limit = 3

    def __init__(self, start):
        self.__at = start

    def step(self, by):
        self.__at = self.__clipped(self.__at + by)
        return self.__at

    def __clipped(self, value):
        return min(value, self.__limit * 2)


class LongWalk(Walk):
    __limit = 100

    def __init__(self, start):
        super().__init__(start + 1)
        self.__at = self.__limit

    def both(self, by):
        return self.__at + self.step(by)


class Private(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.__embed = nn.Embedding(10, 4)
        self.__scale__ = 2.0

    def __evaluated(self, word):
        def doubled(h):
            return self.__scale__ * self.__embed(torch.tensor(h))

        return doubled(word)

    def forward(self, xs):
        walk, long = Walk(xs[0]), LongWalk(xs[-1])
        return self.__evaluated(xs[0]), [walk.step(x) for x in xs], [long.both(x) for x in xs]


def test_private_names_are_those_of_their_class() -> None:
    agrees(Private(), [[3, 1], [2], [5, 0, 4, 1]])
