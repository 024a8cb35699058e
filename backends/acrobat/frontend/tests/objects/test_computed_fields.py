"""Dataclasses that compute fields when they are made: `__post_init__`, `init=False`, an `__init__` of their own. Against eager
PyTorch."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, List, Optional  # noqa: UP035

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[1, 2, 3], [4], [2, 2]]


@dataclass
class Tree:
    word: int
    children: list = field(default_factory=list)
    size: int = field(init=False)

    def __post_init__(self):
        self.size = 1 + sum(c.size for c in self.children)


@dataclass
class Item:
    tokens: List[int]  # noqa: UP006
    h: Optional[Tensor] = None  # noqa: UP045
    n: int = 0

    def __post_init__(self):
        self.n = len(self.tokens)
        if self.h is None:
            self.h = torch.zeros(4)


@dataclass
class Span:
    i: int
    j: int
    length: int = field(init=False)

    def __post_init__(self):
        self.length = self.j - self.i


@dataclass
class Own:
    x: int
    y: int = 0

    def __init__(self, x):
        self.x = x
        self.y = 2 * x


@dataclass
class Base:
    a: int
    total: int = field(default=0, init=False)
    items: List[int] = field(default_factory=list)  # noqa: UP006


@dataclass
class Derived(Base):
    b: int = 2

    def __post_init__(self):
        self.total = self.a + self.b + len(self.items)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)

    def span(self, x: int) -> Span:
        return Span(x, 2 * x)


def of_the_sample(self, tree):
    h = self.e.weight[tree.word] * tree.size
    for child in tree.children:
        h = h + self.forward(child)
    return h


def of_the_sample_annotated(self, tree: Tree) -> Any:
    return self.e.weight[tree.word] * tree.size


def made(self, xs):
    item = Item(xs)
    return self.e(torch.tensor(item.tokens)).sum(0) * item.n + item.h


def in_lists(self, xs):
    spans = [Span(i, j) for i in range(len(xs)) for j in range(i + 1, len(xs) + 1)]
    best = max(spans, key=lambda s: s.length)
    return self.e.weight[best.i] * best.length, [s.length for s in spans]


def own_init(self, xs):
    made = [Own(x) for x in xs]
    return sum(q.y for q in made), made[0].x


def inherited(self, xs):
    made = [Derived(x) for x in xs] + [Derived(1, b=5), Derived(2, [4])]
    return [d.total for d in made], [len(d.items) for d in made]


def annotated(self, xs: List[int]) -> Any:  # noqa: UP006
    best: Optional[Span] = None  # noqa: UP045
    for x in xs:
        s = self.span(x)
        if best is None or s.length > best.length:
            best = s
    return (best.length, best.i) if best is not None else (0, 0)


CASES: list[tuple[Any, list[Any]]] = [
    (of_the_sample, [Tree(1), Tree(2, [Tree(3), Tree(1, [Tree(0)])])]),
    (of_the_sample_annotated, [Tree(1), Tree(2, [Tree(3)])]),
    (made, LISTS),
    (in_lists, LISTS),
    (own_init, LISTS),
    (inherited, LISTS),
    (annotated, LISTS),
]


@pytest.mark.parametrize(("function", "sample"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_as_eager(function: Any, sample: list[Any]) -> None:
    agrees(with_forward(Words(), function), sample)


def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Words(), in_lists), LISTS, codegen, tmp_path)
