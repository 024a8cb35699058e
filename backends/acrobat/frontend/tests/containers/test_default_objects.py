"""Dictionaries that make an object for a missing key, which is changed under another name: they keep the object."""

# mypy: ignore-errors
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2, 4], [7, 3]]


@dataclass
class Record:
    state: torch.Tensor
    count: int = 0


@dataclass
class Seen:
    count: int = 0
    history: list = field(default_factory=list)


class Hub:
    def __init__(self):
        self.users = defaultdict(Seen)

    def see(self, n):
        self.users[n].history.append(n)
        me = self.users[n]
        me.count += 2
        return len(me.history) + me.count


def once(users, n):
    record = users[n]
    record.count += 1
    return record.count


def twice(users, n):
    return once(users, n) + once(users, n)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def stream(self, numbers: list[int], users: dict[int, Record]) -> Iterator[tuple[int, int]]:
        for n in numbers:
            me = users[n]
            me.count += 1
            me.state = me.state * 2
            if me.count > 1:
                continue
            yield n, me.count

    def unannotated(self, numbers, users):
        for n in numbers:
            me = users[n]
            me.count += 1
            if me.count > 1:
                continue
            yield n


def by_a_generator(self, numbers):
    users: dict[int, Record] = defaultdict(lambda: Record(self.weight))
    out = []
    for n, k in self.stream(numbers, users):
        out.append(n + k)
    return out, {u: r.count for u, r in users.items()}, sum(r.state for r in users.values())


def not_read_afterwards(self, numbers):
    users = defaultdict(lambda: Record(self.weight))
    return [n for n in self.unannotated(numbers, users)]  # noqa: C416


def in_an_attribute(self, numbers):
    hub = Hub()
    return [hub.see(n) for n in numbers], {k: (v.count, v.history) for k, v in hub.users.items()}


def through_functions(self, numbers):
    users = defaultdict(Seen)
    return [twice(users, n) for n in numbers], len(users)


def by_a_nested_function(self, numbers):
    users, out = defaultdict(Seen), []

    def touch(n):
        me = users[n]
        me.count += 1
        return me.count

    for n in numbers:
        out.append(touch(n))
    return out


CASES = [by_a_generator, not_read_afterwards, in_an_attribute, through_functions, by_a_nested_function]


@pytest.mark.parametrize("function", CASES)
def test_as_eager(function) -> None:
    agrees(with_forward(Model(), function), NUMBERS)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Model(), by_a_generator), NUMBERS, codegen, tmp_path)
