"""Imports inside of functions, sets with `*`, `update` of an empty set, `get` with an empty tuple, paths that end without
`return`, and `id` of what may be None. Against eager PyTorch."""

# ruff: noqa: RET503 (paths that end without `return` are what is tested)

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Optional

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[1, 2, 3], [4], [2, 2, 0, 1]]


@dataclass
class Binary:
    word: int
    left: Optional[Binary] = None  # noqa: UP045
    right: Optional[Binary] = None  # noqa: UP045


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)

    def first(self, xs, k):
        for i, x in enumerate(xs):
            if x == k:
                return self.e.weight[i]

    def doubled(self, x):
        if x > 2:
            return x * 2


def imports(self, xs):
    import math
    from itertools import permutations

    import torch.nn.functional as F

    n = 0
    for (i, a), (j, b) in permutations(enumerate(xs), 2):
        n += a * j - i * b
    return F.relu(self.e.weight[0]) * n, math.sqrt(n + 100)


def sets_with_stars(self, xs):
    s = {0, *xs, *[x + 1 for x in xs]}
    return sorted(s), len({*xs})


def update_of_an_empty_set(self, xs):
    taken: set = set()
    for x in xs:
        if x not in taken:
            taken.update(range(x, x + 2))
    return sorted(taken)


def get_with_an_empty_tuple(self, xs):
    places: Any = defaultdict(list)
    for i, x in enumerate(xs):
        places[x].append(i)
    places = dict(places)
    sums = [sum(self.e.weight[j] for j in places.get(k, ())) + self.e.weight[k] for k in range(5)]
    return sums, [len(places.get(k, ())) for k in range(3)]


def ends_in_a_loop(self, xs):
    for i, x in enumerate(xs):
        if i == len(xs) - 1:
            return self.e.weight[x]


def may_give_nothing(self, xs):
    h = self.first(xs, 2)
    found = [self.doubled(x) for x in xs]
    return h if h is not None else self.e.weight[9], found, [y for y in map(self.doubled, xs) if y]


def gives_nothing(self, xs):
    for x in xs:
        if x == 2:
            return self.e.weight[x]


FUNCTIONS = [
    imports,
    sets_with_stars,
    update_of_an_empty_set,
    get_with_an_empty_tuple,
    ends_in_a_loop,
    may_give_nothing,
    gives_nothing,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_as_eager(function: Any) -> None:
    agrees(with_forward(Words(), function), LISTS)


def by_number(self, tree):
    todo, done = [(tree, False)], {}
    while todo:
        node, expanded = todo.pop()
        if node.left is None:
            done[id(node)] = self.e.weight[node.word]
        elif expanded:
            a, b = done.pop(id(node.left)), done.pop(id(node.right))
            done[id(node)] = torch.tanh(a + 2 * b) + self.e.weight[node.word]
        else:
            todo.append((node, True))
            todo.append((node.right, False))
            todo.append((node.left, False))
    return done[id(tree)]


def test_id_of_what_may_be_none() -> None:
    trees = [Binary(0), Binary(1, Binary(2), Binary(3)), Binary(1, Binary(0, Binary(1), Binary(1)), Binary(2))]
    agrees(with_forward(Words(), by_number), trees)


def missing_module(self, xs):
    from itertools import nothing_of_this_name  # type: ignore[attr-defined]

    return nothing_of_this_name(xs)


def test_an_import_that_fails() -> None:
    with pytest.raises(CompileError, match="nothing_of_this_name"):
        build(with_forward(Words(), missing_module), sample=LISTS)


@dataclass
class Branching:
    weight: float
    below: list[Branching]


def depth(self, tree):
    return 1 + max((self.forward(kid) for kid in tree.below), default=0)


def heaviest(self, tree):
    return max([tree.weight, min((self.forward(kid) for kid in tree.below), default=0.0)])


@pytest.mark.parametrize("function", [depth, heaviest])
def test_recursions_that_end_in_a_default(function: Any) -> None:
    trees = [Branching(1.5, []), Branching(2.5, [Branching(1.0, []), Branching(4.0, [Branching(3.0, [])])])]
    agrees(with_forward(nn.Module(), function), trees)


class Number:
    def __init__(self, value):
        self.value = value


class Name:
    def __init__(self, name):
        self.name = name


class Visits(Words):
    def visit_number(self, e):
        return self.e.weight[0] * e.value

    def visit_name(self, e):
        return self.e.weight["xyz".index(e.name)]


def visited(self, e):
    return getattr(self, "visit_" + type(e).__name__.lower())(e)


def test_a_method_that_picks_a_row_by_an_attribute_of_its_class() -> None:
    agrees(with_forward(Visits(), visited), [Number(2), Name("y"), Name("x"), Number(0)])
