"""Constant dictionaries of which one is chosen at run time: by a key, by a condition, with a default; what is in them, and what
`update` takes from them. And `defaultdict` of a class of the source. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

COSTS = {"a": {"x": 1.0, "y": 2.0}, "b": {"x": 0.5, "z": 3.0}, "c": {}}
HIGH, LOW = {"x": 1.0, "y": 2.0}, {"x": 2.5}
TREE = {"left": {"left": {"value": 1.0}, "right": {"value": 2.0}}, "right": {"value": 3.0}}
WORDS = [["a", "b"], ["c", "a", "a", "b"], ["b"], ["a", "zz", "c"], []]
NUMBERS = [[1.5, -2.0, 3.0], [0.5], [-1.0, -2.5], [2.5, 3.5, -1.25], [-4.0]]


def items_or_nothing(self, words):
    total = 0.0
    for w in words:
        for name, cost in COSTS.get(w, {}).items():
            total += cost * len(name)
    return total


def items_behind_a_test(self, words):
    return [(w, name, cost) for w in words if w in COSTS for name, cost in COSTS[w].items()]


def with_a_default(self, words):
    return [COSTS.get(w, COSTS["a"]).get("x", 7.0) for w in words], ["z" in COSTS.get(w, {}) for w in words]


def updated(self, words):
    record, whole, empty = {"x": 1.0, "y": 2.0}, dict(COSTS["a"]), {}
    for w in words:
        whole.update(COSTS.get(w, {}))
        if w in COSTS:
            empty.update(COSTS[w])
        if w == "b":
            record.update(LOW)
    return sorted(record.items()), sorted(whole.items()), sorted(empty.items())


def by_condition(self, numbers):
    costs = []
    for x in numbers:
        table = HIGH if x > 0 else LOW
        costs.append(table["x"] + table.get("y", 0.25) + len(table))
    return costs


def given(self, numbers):
    def cost(table, x):
        return sum(v * x for v in table.values()), sorted(table)

    return [cost(HIGH if x > 0 else LOW, x) for x in numbers]


def walked_by_recursion(self, numbers):
    def leaf(node, i):
        if "value" in node:
            return node["value"]
        return leaf(node["left"] if numbers[i % len(numbers)] > 0 else node["right"], i + 1)

    return leaf(TREE, 0)


@pytest.mark.parametrize("forward", [items_or_nothing, items_behind_a_test, with_a_default, updated])
def test_chosen_by_a_key(forward) -> None:
    agrees(with_forward(nn.Module(), forward), WORDS)


@pytest.mark.parametrize("forward", [by_condition, given, walked_by_recursion])
def test_chosen_by_a_condition(forward) -> None:
    agrees(with_forward(nn.Module(), forward), NUMBERS)


@dataclass
class Sums:
    count: int = 0
    total: float = 0.0

    def add(self, x):
        self.count += 1
        self.total += x
        return self


class Group:
    def __init__(self):
        self.places = []
        self.best = None

    def push(self, i, x):
        self.places.append(i)
        if self.best is None or x > self.best:
            self.best = x


class Grouped(nn.Module):
    def forward(self, numbers):
        sums, groups = defaultdict(Sums), defaultdict(Group)
        for i, x in enumerate(numbers):
            sums[x > 0].add(x).add(1.0)
            groups[int(abs(x))].push(i, x)
        return {k: (s.count, s.total) for k, s in sums.items()}, [(k, g.places, g.best) for k, g in sorted(groups.items())]


def test_defaultdict_of_a_class() -> None:
    agrees(Grouped(), NUMBERS)


def test_defaultdict_of_a_class_in_compiled_code(codegen, tmp_path) -> None:
    agrees_natively(Grouped(), NUMBERS, codegen, tmp_path)
