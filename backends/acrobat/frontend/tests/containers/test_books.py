"""Dictionaries of dictionaries and lists in attributes, which are changed under names of their own."""

# mypy: ignore-errors
from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from enum import Enum, auto

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2, 4, 1], [7, 3]]


class Side(Enum):
    BID = auto()
    ASK = auto()


class Book:
    """An order book: sizes by price, the prices in order, and the open orders as lists that change."""

    def __init__(self):
        self.orders = {}
        self.levels = {Side.BID: {}, Side.ASK: {}}
        self.prices = {Side.BID: [], Side.ASK: []}

    def change(self, side, price, delta):
        levels = self.levels[side]
        if price not in levels:
            bisect.insort(self.prices[side], price)
            levels[price] = 0
        levels[price] += delta
        if levels[price] <= 0:
            del levels[price]
            self.prices[side].remove(price)

    def add(self, number, side, price, size):
        self.orders[number] = [side, price, size]
        self.change(side, price, size)

    def take(self, number, size):
        order = self.orders.get(number)
        if order is None:
            return False
        side, price, left = order
        taken = min(left, size)
        self.change(side, price, -taken)
        order[2] -= taken
        if order[2] == 0:
            del self.orders[number]
        return True

    def best(self, side):
        prices = self.prices[side]
        if not prices:
            return None
        return prices[-1] if side is Side.BID else prices[0]

    def depth(self, side, n):
        prices = self.prices[side]
        chosen = prices[::-1][:n] if side is Side.BID else prices[:n]
        return [(p, self.levels[side][p]) for p in chosen]


@dataclass
class Slot:
    value: str
    count: int


@dataclass
class State:
    domain: str = "food"
    slots: dict[str, dict[str, Slot]] = field(default_factory=dict)

    def of_domain(self):
        return self.slots.setdefault(self.domain, {})


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.weight = nn.Parameter(torch.randn(2))
        self.queries = nn.ModuleDict(
            {"food": nn.ModuleDict({"name": nn.Linear(2, 2), "area": nn.Linear(2, 2)}), "talk": nn.ModuleDict()}
        )


def order_book(self, numbers):
    book, best = Book(), []
    for i, n in enumerate(numbers):
        book.add(i, Side.BID if n % 2 else Side.ASK, n, n + 1)
        if n > 2:
            book.take(i - 1, n)
        found = book.best(Side.BID)
        best.append(-1 if found is None else found)
    depth = torch.tensor([[float(p), float(s)] for p, s in book.depth(Side.ASK, 2)] or [[0.0, 0.0]])
    return best, len(book.orders), depth * self.weight


def dialogue(self, numbers):
    state = State()
    for n in numbers:
        state.domain = "food" if n % 2 else "taxi"
        filled = state.of_domain()
        name = "when" if n > 2 else "where"
        old = filled.get(name)
        if old is None or old.value != str(n):
            filled[name] = Slot(str(n), 1)
        else:
            old.count += 1
    return sorted((d, s, slot.value, slot.count) for d, slots in state.slots.items() for s, slot in slots.items())


@pytest.mark.parametrize("function", [order_book, dialogue])
def test_as_eager(function) -> None:
    agrees(with_forward(Model(), function), NUMBERS)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Model(), order_book), NUMBERS, codegen, tmp_path)


def test_modules_of_one_of_several_dictionaries_of_which_one_is_empty() -> None:
    def asked(self, instance):
        domain, slots = instance
        h = self.weight
        for slot in slots:
            h = h + self.queries[domain][slot](h)
        return h

    agrees(with_forward(Model(), asked), [("food", ["name", "area"]), ("talk", []), ("food", ["area"])])


def taken_over(self, numbers):
    """What gets the elements of a container does not refer to the container."""
    cart, bought, listed = {}, set(), []
    for n in numbers:
        if n > 3:
            bought.update(cart)
            listed.extend(cart)
            cart.clear()
        else:
            cart[n] = cart.get(n, 0) + 1
    listed.extend(sorted(bought))
    bought.add(99)
    return sorted(bought), sorted(listed), sorted(cart.items())


def lists_stay_shared(self, numbers):
    """The elements are lists, which both containers have."""
    rows, more = [[n] for n in numbers], [[0]]
    more.extend(rows)
    for row in more:
        row.append(1)
    return rows, more


@pytest.mark.parametrize("function", [taken_over, lists_stay_shared])
def test_elements_of_other_containers(function) -> None:
    agrees(with_forward(Model(), function), NUMBERS)
