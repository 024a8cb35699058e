"""Lists that are changed while several names refer to them, in which ints stand at first and floats later: the ints become
floats there, as they do in attributes; empty lists beside such lists, and dictionaries of several kinds. Against eager
PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively

INSTANCES = [[1.5, -2.0, 3.0], [0.5], [], [-1.0, -2.0], [2.5, 3.5, -1.0, 4.0]]


class Shop:
    """The time at which each machine is free, how often it was used, and what each has done."""

    def __init__(self, machines):
        self.free = [0] * machines
        self.uses = [0] * machines
        self.done = {}

    def gap(self, machine):
        at = 0
        for _, end in self.done.get(machine, []):
            at = max(at, end)
        return at

    def work(self, machine, time):
        start = max(self.gap(machine), self.free[machine])
        line = self.done.setdefault(machine, [])
        line.append((start, start + time))
        line.sort()
        self.free[machine] = start + time
        self.uses[machine] += 1


class OneOfTwoShops(nn.Module):
    def forward(self, xs):
        shops = [Shop(2), Shop(2)]
        for i, x in enumerate(xs):
            shops[i % 2].work(shops[i % 2].uses[0] % 2, abs(x))
        return [[float(x) for x in s.free] for s in shops], [s.uses for s in shops], [s.gap(1) + 0.5 for s in shops]


class TwoNames(nn.Module):
    def forward(self, xs):
        best, uses = [0] * len(xs), [0] * len(xs)
        kept = [best]
        counts = [uses]
        for i, x in enumerate(xs):
            if x > 0:
                best[i] = x
            else:
                kept[0][i] = 2
                counts[0][i] += 1
            uses[0] += 2
        return [x + 0.5 for x in best], sum(map(len, kept)), uses, [xs[k] for k in uses if k < len(xs)]


@pytest.mark.parametrize("model", [OneOfTwoShops, TwoNames])
def test_ints_of_shared_lists_become_floats(model) -> None:
    agrees(model(), INSTANCES)


def test_ints_of_shared_lists_become_floats_in_compiled_code(codegen, tmp_path) -> None:
    agrees_natively(OneOfTwoShops(), INSTANCES, codegen, tmp_path)


@dataclass(eq=False)
class Order:
    name: int
    size: float


class Book:
    """Orders by price on two sides, and by name."""

    def __init__(self):
        self.levels = {"buy": defaultdict(deque), "sell": defaultdict(deque)}
        self.by_name = {}

    def add(self, side, price, order):
        self.levels[side][price].append(order)
        self.by_name[order.name] = order

    def remove(self, side, price, order):
        level = self.levels[side][price]
        level.remove(order)
        if not level:
            del self.levels[side][price]
        del self.by_name[order.name]


class Exchange(nn.Module):
    def forward(self, xs):
        book = Book()
        for i, x in enumerate(xs):
            side, other = ("buy", "sell") if x > 0 else ("sell", "buy")
            price = i % 2
            if price in book.levels[other]:
                resting = book.levels[other][price][0]
                resting.size -= abs(x)
                if resting.size <= 0:
                    book.remove(other, price, resting)
            else:
                book.add(side, price, Order(i, abs(x)))
        return sorted(book.by_name), [sorted(level) for level in book.levels.values()]


def test_dictionaries_of_queues_of_objects_that_several_names_have() -> None:
    agrees(Exchange(), [*INSTANCES, [1.0, 2.0, -1.5, -0.5, 3.0, -1.5]])
