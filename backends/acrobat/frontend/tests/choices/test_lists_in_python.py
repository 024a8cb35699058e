"""`isinstance(xs, list)` of lists and tuples of the program, which the source may have made of other sequences."""

# mypy: ignore-errors

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees


@dataclass
class Word:
    text: str
    number: int | None = None


@dataclass
class Phrase:
    parts: list = field(default_factory=list)
    pair: tuple = ()
    head: Word | None = None
    counts: list[int] = field(default_factory=list)


class Visitor(nn.Module):
    """Encodes the fields of objects of several classes by what they are."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 4)

    def value(self, value):
        if value is None:
            return torch.ones(4)
        if isinstance(value, (list, tuple)) and not value:
            return torch.zeros(4)
        if isinstance(value, list):
            return torch.stack([self.value(x) for x in value]).sum(0)
        if isinstance(value, tuple):
            return torch.stack([self.value(x) for x in value]).mean(0)
        if isinstance(value, str):
            return self.table.weight[len(value)]
        if isinstance(value, int):
            return self.table.weight[value]
        return 0.5 * self(value)

    def forward(self, node):
        total = torch.zeros(4)
        for each in fields(node):
            total = torch.tanh(total + self.value(getattr(node, each.name)))
        return total


def test_fields_of_several_classes() -> None:
    words = [Word("a"), Word("bc", 2), Word("def", 1)]
    inner = [Phrase([words[0]], (1, 2)), Phrase([], (3, 4), words[1], [1, 2, 3]), Phrase(words, (0, 1), None, [4])]
    torch.manual_seed(0)
    agrees(Visitor(), [*words, *inner, Phrase([*inner, words[2]], (5, 6), words[2])])


def asked(x):
    return isinstance(x, list), isinstance(x, tuple), isinstance(x, (list, tuple)), isinstance(x, (list, deque))


class Made(nn.Module):
    def forward(self, n):
        xs = [i + 1 for i in range(n)]
        pairs = [(i, 2 * i) for i in xs]
        rows = [[i] * i for i in range(n)]
        own = asked(xs), asked(xs[1:]), asked(xs + xs), asked(sorted(xs)), asked(["a", "b"]), asked((n, "a"))
        inside = [asked(p) for p in pairs], [asked(list(p)) for p in pairs], [asked(r) for r in itertools.chain(rows, rows)]
        return own, inside, [asked(p) for p in zip(xs, xs, strict=True)], asked(torch.ones(n, 3).tolist()), asked((*xs, 1))


def test_lists_that_the_model_makes() -> None:
    agrees(Made(), [1, 2, 3])


def of_range(n):
    return asked(range(n))


def of_values(n):
    return asked({i: i for i in range(n)}.values())


def numbers(n):
    for i in range(n):
        yield i + 1


def of_generator(n):
    return asked(numbers(n)), asked([n])


def of_deque(n):
    return asked(deque([i + 1 for i in range(n)])), asked([n])


def of_groups(n):
    return [asked(group) for _, group in itertools.groupby([i // 2 for i in range(n)])]


def of_reversed(n):
    return asked(reversed([i + 1 for i in range(n)])), asked([n])


@pytest.mark.parametrize(
    "asks", [of_range, of_values, of_generator, of_deque, of_groups, of_reversed], ids=lambda f: f.__name__
)
def test_other_sequences_are_not_taken_for_lists(asks) -> None:
    model = nn.Module()
    model.forward = asks  # a function of one parameter
    with pytest.raises(CompileError, match="`isinstance`"):
        build(model, sample=[1, 2, 3])


class Displays(nn.Module):
    def forward(self, n):
        return asked((n, "a")), asked([n, "a"]), [asked(list(pair)) for pair in [(i, "a") for i in range(n)]]


def test_lists_that_are_tuples_of_the_program() -> None:
    """They are told apart, in another attempt."""
    agrees(Displays(), [1, 2])


class Leaf(NamedTuple):
    number: int


class Pair(NamedTuple):
    left: Any
    right: Any
    name: str


class Many(NamedTuple):
    name: str
    children: list


class OfNamed(nn.Module):
    """Walks over `_fields` of named tuples."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 4)

    def forward(self, node):
        total = torch.ones(4)
        for name in node._fields:
            value = getattr(node, name)
            if isinstance(value, list):
                for x in value:
                    total = total + 0.5 * self(x)
            elif isinstance(value, str):
                total = total * self.table.weight[len(value)]
            elif isinstance(value, int):
                total = total + self.table.weight[value]
            elif isinstance(value, (Leaf, Pair, Many)):
                total = total - self(value)
        return torch.tanh(total)


def test_named_tuples_of_several_classes() -> None:
    torch.manual_seed(0)
    leaves = [Leaf(i) for i in range(3)]
    pairs = [Pair(leaves[0], leaves[1], "ab"), Pair(leaves[2], Many("c", leaves), "def")]
    agrees(OfNamed(), [*leaves, *pairs, Many("g", pairs), Pair(Many("hij", [*leaves, *pairs]), pairs[0], "k")])
