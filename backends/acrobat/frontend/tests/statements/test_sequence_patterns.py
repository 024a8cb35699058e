"""Patterns of sequences in `match`: of tuples whose length is known, of lists, with stars, of values of other types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees


class Base(nn.Module):
    SAMPLE: Sequence[Any] = ()

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(5, 4)
        self.join = nn.Linear(8, 4)


class OfATuple(Base):
    """Cases of other lengths than the tuple has never match, and a star takes what the others leave."""

    SAMPLE = ((1, 2), (3, 4), (0, 1))

    def forward(self, pair):
        match pair:
            case (only,):
                return self.embed.weight[only]
            case (_, _, third):
                return self.embed.weight[third]
            case (1, b) | (b, 1):
                return self.embed.weight[b] * 2
            case (_, _, _, *_):
                return self.embed.weight[0]
            case (first, *rest):
                return self.embed.weight[first] * len(rest) + sum(rest)


class ThreeWays(Base):
    """A tuple that the function makes, stars at the start, and the same value in several cases."""

    SAMPLE = (("a", 1), ("b", 2), ("c", 3))

    def forward(self, t):
        match t:
            case ("a", i):
                y = self.embed.weight[i]
            case ("b", *rest):
                y = self.embed.weight[rest[0]] * 2
            case ("c", _, _):
                y = self.embed.weight[4]
            case [*_, last]:
                y = self.embed.weight[last] * 3
        match (len(t), t[1]):
            case (2, 1):
                return y + 1
            case (2, k) if k > 2:
                return y + k
        return y


class OfAList(Base):
    """Lists of several lengths: exact ones, stars in all places, and literals among the elements."""

    SAMPLE = ([], [1], [2], [1, 2], [2, 1], [0, 3, 1], [1, 1, 4], [3, 1, 1, 2], [3, 0, 0, 4], [4, 4, 4, 4, 4])

    def forward(self, xs):
        match xs:
            case []:
                return self.embed.weight[0], 0
            case [1]:
                return self.embed.weight[1], 1
            case [1, *_, 4]:
                return self.embed.weight[2], 2
            case [x]:
                return self.embed.weight[x], 3
            case [0, a, b]:
                return self.embed.weight[a] - b, 4
            case [1, b]:
                return self.embed.weight[b], 5
            case [3, *middle, 2]:
                return self.embed.weight[3] + sum(middle), 6
            case [a, b]:
                return self.embed.weight[a] + b, 7
            case [*_, a, 0, 0, b]:
                return self.embed.weight[a] + b, 8
            case [first, *rest]:
                return self.embed.weight[first], len(rest)


class OfATree(Base):
    """A tree of tuples and lists, whose cases test tags and lengths, and lists beside ints."""

    SAMPLE: Sequence[Any] = (
        ("leaf", 1),
        ("node", ("leaf", 0), ("leaf", 2)),
        ("chain", [3, 2, 1]),
        ("node", ("chain", []), ("neg", ("leaf", 3))),
    )

    def forward(self, t):
        match t:
            case ("leaf", int(i)):
                return self.embed.weight[i]
            case ("neg", sub):
                return -self.forward(sub)
            case ("node", left, right):
                return torch.tanh(self.join(torch.cat([self.forward(left), self.forward(right)])))
            case ("chain", []):
                return torch.zeros(4)
            case ("chain", [int(head), *rest]):
                return self.embed.weight[head] + 0.5 * self.forward(("chain", rest))
            case _:
                raise ValueError(t)


class OfAnotherKind(Base):
    """A string is no sequence of a pattern, and a literal of another type does not match."""

    SAMPLE = (("a", 1), ("b", 2))

    def forward(self, t):
        word, i = t
        match word:
            case (_, _):
                return self.embed.weight[0]
            case 3:
                return self.embed.weight[4]
            case "a":
                return self.embed.weight[i]
        match i:
            case "b" | (_,):
                return self.embed.weight[0]
            case 2:
                return self.embed.weight[i] * 2
        return self.embed.weight[3]


@pytest.mark.parametrize("model", [OfATuple, ThreeWays, OfAList, OfATree, OfAnotherKind], ids=lambda m: m.__name__)
def test_matches_as_python_does(model: type[Base]) -> None:
    sample = list(model.SAMPLE)
    agrees(model(), sample, sample)
