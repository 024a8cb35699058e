"""`collections.Counter`, and lists that `heapq` and `bisect` keep in order."""

# mypy: ignore-errors

from __future__ import annotations

import bisect
import heapq
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(9, 4)


def operators(self, xs):
    a, b = Counter(xs), Counter(xs[1:])
    return a + b, a - b, b - a, a | b, a & b


def changes(self, xs):
    counts = Counter(xs)
    counts.update(xs[:2])
    counts.update({1: 2, 20: 3})
    counts.subtract([1, 30])
    return counts, counts.total(), counts.most_common(2)


def from_dictionaries(self, xs):
    known = {1: 5, 2: 1}
    return Counter(known), Counter({1: 0.5}) + Counter({1: 1.5}), sorted(Counter(xs).elements()), Counter(Counter(xs))


class Queue:
    def __init__(self):
        self.heap = []

    def push(self, priority, item):
        heapq.heappush(self.heap, (priority, item))

    def pop(self):
        return heapq.heappop(self.heap)


def queue(self, xs):
    waiting = Queue()
    for i, x in enumerate(xs):
        waiting.push(-x, i)
    first, second = waiting.pop(), waiting.pop()
    return first, second, waiting.heap


def pushed(heap, x):
    heapq.heappush(heap, x)


def heaps(self, xs):
    heap = []
    for x in xs:
        pushed(heap, x)
    smallest, other = heapq.heappushpop(heap, 4), heapq.heapreplace(heap, 3)
    least = heapq.heappushpop(heap, -1)
    return heap, smallest, other, least, heapq.nlargest(2, xs), heapq.nsmallest(2, xs, key=lambda x: -x)


def placed(items, x):
    bisect.insort(items, x)


def sorted_places(self, xs):
    items = []
    for x in xs:
        placed(items, x)
    pairs = []
    for i, x in enumerate(xs):
        bisect.insort_left(pairs, (x, i))
    return items, pairs, bisect.bisect(items, 3), bisect.bisect_left(items, 3), bisect.bisect_right(items, 3, 1)


LISTS = [[1, 2, 1], [3, 3, 8, 0, 3, 2], [5, 4, 3, 2, 1, 0], [7, 7]]
FUNCTIONS = [operators, changes, from_dictionaries, queue, heaps, sorted_places]


def of(function: Any) -> nn.Module:
    return with_forward(Model(), function)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_interpreter(function: Any) -> None:
    agrees(of(function), LISTS)


def everything(self, xs):
    return operators(self, xs), changes(self, xs), heaps(self, xs), sorted_places(self, xs)


def test_generated_code(codegen: Any, tmp_path: Path) -> None:
    agrees_natively(of(everything), LISTS, codegen, tmp_path)
