"""Dataclasses that compute fields when they are made: `__post_init__`, `init=False`, an `__init__` of their own. Against eager
PyTorch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, List, Optional  # noqa: UP035

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile
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


@dataclass
class Graph:
    edges: list[tuple[int, int]]

    def __post_init__(self):
        self.parts = len(self.edges)
        self.out: dict[int, list[int]] = {}
        for a, b in self.edges:
            self.out.setdefault(a, []).append(b)

    def after(self, node):
        return [node, *self.out.get(node, [])]


class Plain:
    def __init__(self, words):
        self.words = words
        self.total = sum(words)


@dataclass
class Cached:
    words: list[int]

    def __post_init__(self):
        self.first = self.words[0]

    @cached_property
    def total(self):
        return sum(self.words)


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


def set_beside_fields(self, graph: Graph) -> Any:
    reached = graph.after(1)
    return self.e(torch.tensor(reached)).sum(0), reached, str(graph), graph == Graph([])


def made_beside_the_sample(self, graph):
    more = Graph([*graph.edges, (1, graph.parts)])
    return more, more.after(1), graph.parts, replace(more, edges=[])


def made_of_an_ordinary_class(self, plain):
    more = Plain([*plain.words, plain.total])
    return more.total, more


def cached(self, x):
    return self.e.weight[x.first], x.total


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
    (set_beside_fields, [Graph([(1, 2), (1, 3), (2, 1)]), Graph([(2, 4)]), Graph([])]),
    (made_beside_the_sample, [Graph([(1, 2), (1, 3), (2, 1)]), Graph([(2, 4)]), Graph([])]),
    (cached, [Cached([1, 2]), Cached([3])]),
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


@pytest.mark.parametrize("function", [set_beside_fields, made_beside_the_sample], ids=lambda x: x.__name__)
def test_what_is_set_beside_fields_natively(function: Any, codegen: str, tmp_path: Path) -> None:
    graphs = [Graph([(1, 2), (1, 3), (2, 1)]), Graph([(2, 4)]), Graph([])]
    agrees_natively(with_forward(Words(), function), graphs, codegen, tmp_path)


def test_a_result_of_an_ordinary_class_of_the_sample(tmp_path: Path) -> None:
    module = with_forward(Words(), made_of_an_ordinary_class)
    executable = compile(module, sample=[Plain([1, 2]), Plain([])], checked=True, cache_folder=tmp_path)
    for words in [[1, 2], [], [4]]:
        (total, mine), (expected, theirs) = executable([Plain(words)])[0], module(Plain(words))
        assert total == expected
        assert type(mine) is Plain
        assert vars(mine) == vars(theirs)


def test_a_property_that_was_asked_of_some_only() -> None:
    sample = [Cached([1, 2]), Cached([3])]
    assert sample[0].total == 3
    agrees(with_forward(Words(), cached), sample)
