"""Classes of the source that are derived from `dict`, `list`, `OrderedDict` and `defaultdict`, and add methods to them."""

# mypy: ignore-errors
from __future__ import annotations

from collections import OrderedDict, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1], [9, 9], [6, 2, 2, 3, 3, 3, 7, 1]]


class Chart(dict):
    LIMIT = 3

    def best(self, *span):
        return self[span][0]

    def enter(self, i, j, value):
        self[i, j] = value, i * j

    @property
    def is_full(self):
        return len(self) >= self.LIMIT


class Stack(list):
    """Its methods change it, give it back, and call each other."""

    def push(self, x):
        self.append(x)
        return self

    def top(self, k=1):
        return self[-k]

    def add(self):
        right = self.pop()
        left = self.pop()
        self.push(left + right)

    @classmethod
    def of(cls, xs):
        return cls(xs)

    @staticmethod
    def limit(n):
        return n + 1


class Cache(OrderedDict):
    def put(self, key, value):
        self[key] = value
        self.move_to_end(key)
        if len(self) > 2:
            self.popitem(last=False)

    def add(self, key):
        """Of this name sets have a method, and dictionaries have none."""
        self.put(key, self.get(key, 0) + 1)


class Graph(defaultdict):
    def __init__(self, edges):
        """The base's own comes first, then the entries."""
        super().__init__(list)
        for a, b in edges:
            self.connect(a, b)

    def connect(self, a, b):
        self[a].append(b)
        self[b].append(a)


class Ranked(list):
    def __init__(self, xs, least):
        least = max(least, 0)
        list.__init__(self, [x for x in xs if x >= least])
        self.sort()


class Pairs(dict):
    def __init__(self, xs):
        for x in xs:
            if x > 8:
                return
            self[x] = -x


def charts(self, xs):
    chart, other = Chart(), Chart({(0, 1): (4, 5)})
    for i, x in enumerate(xs):
        chart.enter(i, i + 1, x)
    other[1, 2] = 7, 8
    return [chart.best(i, i + 1) for i in range(len(xs))], other.best(1, 2), chart.is_full, sum(v for v, _ in other.values())


def stacks(self, xs):
    stack = Stack()
    for x in xs:
        stack.push(x)
        if len(stack) > 2:
            stack.add()
    made = Stack.of(xs)
    made += [1]
    made.extend(xs[:1])
    made.insert(0, 8)
    made.reverse()
    return list(stack), stack.top(), made.top(2), Stack.limit(3), made[1:] + xs, made == xs, bool(stack)


def caches(self, xs):
    cache = Cache()
    for x in xs:
        cache.add(x)
    return dict(cache), [*cache.items()]


def graphs(self, xs):
    graph = Graph(pairwise(xs))
    return [len(graph[x]) for x in xs], sorted(graph)


def with_own_inits(self, xs):
    return [*Ranked(xs, 2)], list(Ranked([*xs, 1], -1)), dict(Pairs(xs))


class Kids(list):
    def __str__(self):
        return ",".join(str(k) for k in self)


class Node:
    def __init__(self, label):
        self.label = label
        self.kids = Kids()

    def __str__(self):
        return f"{self.label}" + (f"[{self.kids}]" if self.kids else "")


class Parser:
    def __init__(self):
        self.stack = Stack()

    def run(self, xs):
        for x in xs:
            self.stack.append(x * 2)
        return self.stack.top()


def reduced(stack):
    while len(stack) > 1:
        stack.add()
    return stack.top()


def given_and_kept(self, xs):
    parser = Parser()
    top = parser.run(xs)
    stacks = [Stack() for _ in range(2)]
    for i, x in enumerate(xs):
        stacks[i % 2].push(x)
    highest = max((s for s in stacks if s), key=lambda s: s.top())
    return top, list(parser.stack), reduced(Stack(xs)), [*map(len, stacks)], highest.top()


def asked(self, xs):
    stack, chart = Stack(xs), Chart()
    for x in xs:
        chart[x, 1] = x, x
    is_one = isinstance(stack, Stack), isinstance(stack, list), isinstance(stack, dict), isinstance(chart, (Stack, Chart))
    return is_one, hasattr(stack, "top"), hasattr(stack, "bottom"), chart.LIMIT


def shown(self, xs):
    root, chart = Node(0), Chart()
    for x in xs:
        root.kids.append(Node(x))
        chart.enter(x, x, x)
    return str(root), str(Stack(xs)), f"{Kids(xs)} {Kids(xs)!r} {Stack(xs)!r}"


FUNCTIONS = [shown, charts, stacks, caches, graphs, with_own_inits, given_and_kept, asked]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_in_python(function: Any) -> None:
    agrees(with_forward(nn.Module(), function), LISTS)


class Composed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.cell = nn.Embedding(10, 4), nn.Linear(8, 4)

    def forward(self, xs):
        stack, chart = Stack(), Chart()
        for i, x in enumerate(xs):
            stack.push(self.words(torch.tensor(x)))
            chart[i, i] = stack.top(), x
        while len(stack) > 1:
            right, left = stack.pop(), stack.pop()
            stack.push(torch.tanh(self.cell(torch.cat([left, right]))))
        return stack.top() + torch.stack(stack).sum(0), torch.stack([chart.best(i, i) for i in range(len(xs))]).mean(0)


def test_of_tensors(codegen: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    agrees_natively(Composed(), LISTS, codegen, tmp_path)


class Counted(dict):
    def __getitem__(self, key):
        return 1


class Sized(list):
    def __init__(self, size):
        super().__init__()
        self.size = size


class Late(list):
    def __init__(self, xs):
        self.append(1)
        super().__init__(xs)


class Derived(Graph):
    def __init__(self):
        super().__init__([])


class Labelled(dict):
    def label(self):
        return self["label"]


REFUSED = {
    "a method in place of the base's": (lambda self, xs: Counted()[xs[0]], "has a `__getitem__` of its own"),
    "attributes": (lambda self, xs: Sized(3).size, "an attribute of this is not assigned to"),
    "a base that comes late": (lambda self, xs: Late(xs), "after it has used `self`"),
    "two that make it": (lambda self, xs: Derived(), "a base of it have an `__init__`"),
    "keys that are names": (lambda self, xs: Labelled({"label": 1}).label(), "a dictionary whose keys are names"),
    "no such method": (lambda self, xs: Stack(xs).bottom(), "a `Stack` has no `bottom`"),
    "a copy is a list": (lambda self, xs: Stack(xs).copy().top(), "`top` of a list is not in the language"),
    "a part is a list": (lambda self, xs: Stack(xs)[1:].top(), "`top` of a list is not in the language"),
    "its class is not known": (lambda self, xs: isinstance(xs, Stack), "`isinstance`"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    function, message = REFUSED[name]
    with pytest.raises(CompileError, match=message):
        build(with_forward(nn.Module(), function), sample=LISTS)


def under_two_names(self, xs):
    stack = Stack()
    other = stack
    for x in xs:
        stack.push(x)
    return other, len(stack)


def test_a_change_under_another_name_is_seen_or_refused() -> None:
    with pytest.raises(CompileError, match="may be seen under another name"):
        build(with_forward(nn.Module(), under_two_names), sample=LISTS)
