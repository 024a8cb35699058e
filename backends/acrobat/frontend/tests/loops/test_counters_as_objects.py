"""`itertools.count` where each step cannot be seen: in comprehensions, branches, nested functions, attributes and objects; and
classes with a `__next__` of their own."""

# mypy: ignore-errors
from __future__ import annotations

import heapq
import itertools

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3]]


class Queue:
    def __init__(self):
        self.ties = itertools.count(10, 2)
        self.items = []

    def add(self, n):
        heapq.heappush(self.items, (n, next(self.ties)))


class Halving:
    def __init__(self, value):
        self.value = value

    def __next__(self):
        self.value = self.value // 2
        return self.value


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def push(self, heap, n):
        heapq.heappush(heap, (n, next(self.tick)))


def in_comprehensions(self, numbers):
    tick = itertools.count()
    heap = [(n, next(tick)) for n in numbers]
    heapq.heapify(heap)
    while heap and len(heap) < 9:
        n, _ = heapq.heappop(heap)
        if n > 3:
            heapq.heappush(heap, (n - 2, next(tick)))
    return next(tick)


def sometimes(self, numbers):
    tick = itertools.count()
    first = [next(tick) if n > 2 else -1 for n in numbers]
    return first, {n: next(tick) for n in numbers}


def in_an_attribute(self, numbers):
    self.tick, heap = itertools.count(), []
    for n in numbers:
        self.push(heap, n)
    return sorted(heap)


def in_an_object(self, numbers):
    queue = Queue()
    for n in numbers:
        if n > 1:
            queue.add(n)
    return queue.items, self.weight


def of_a_class(self, numbers):
    steps = Halving(100)
    return [next(steps) + n for n in numbers], next(steps)


@pytest.mark.parametrize("function", [in_comprehensions, sometimes, in_an_attribute, in_an_object, of_a_class])
def test_as_eager(function) -> None:
    agrees(with_forward(Model(), function), NUMBERS)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Model(), in_an_object), NUMBERS, codegen, tmp_path)
