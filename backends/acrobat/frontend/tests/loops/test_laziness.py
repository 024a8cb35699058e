# mypy: ignore-errors
# ruff: noqa: C417, SIM113, PERF402
"""Iterators whose elements change something, or read what changes before they are taken: Python computes each element when it
is taken. What the program would compute at another time is refused."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees

COUNTS = [1, 2, 3, 5]


class Counting(nn.Module):
    """`work`, a method of the classes below, in a model whose other methods change an attribute."""

    def over_one(self, k):
        self.count = self.count + 1
        return k > 1

    def step(self, k):
        self.count = self.count * 2 + k
        return self.count

    def now(self):
        return self.count

    def forward(self, n):
        self.count = 0
        return self.work(n), self.count


def counting(work) -> nn.Module:
    return type(work.__name__, (Counting,), {"work": work})()


def listed(self, n):
    return list(map(self.step, range(n))), [self.step(i) for i in range(n)], list(filter(self.over_one, range(n)))


def in_order(self, n):
    return sorted(range(n), key=self.step), sum(self.step(i) for i in range(n)), max([self.step(3), self.step(1)])


def taken_apart(self, n):
    first, *rest = map(self.step, range(n))
    return first, rest, [*(self.step(i) for i in range(n))], tuple(self.step(i) for i in range(n))


def joined(self, n):
    found = [0]
    found.extend(self.step(i) for i in range(n))
    return found, " ".join(str(self.step(i)) for i in range(n)), sorted({self.step(i) for i in range(3)})


def first_is_taken_at_once(self, n):
    left = list(range(n + 2))
    return any(i > 1 for i in range(left.pop())), left


def reads_what_stays(self, n):
    offset, found = 3, []
    for x in (i + offset for i in range(n)):
        found.append(x + self.step(x))
    for x in map(lambda i: i + offset, range(n)):
        found.append(x)
        self.count += 1
    return found


@pytest.mark.parametrize("work", [listed, in_order, taken_apart, joined, first_is_taken_at_once, reads_what_stays])
def test_what_is_taken_at_once_is_as_in_python(work):
    agrees(counting(work), COUNTS)


def any_of(self, n):
    return any(self.over_one(i) for i in range(n))


def all_of(self, n):
    return all(map(self.step, range(n)))


def next_of(self, n):
    return next((i for i in range(n) if self.over_one(i)), -1)


def loop(self, n):
    found = []
    for x in map(self.step, range(n)):
        found.append((x, self.count))
        self.count += 1
    return found


def by_turns(self, n):
    return list(zip(map(self.step, range(n)), map(self.step, range(n)), strict=True))


def not_all(self, n):
    return list(itertools.takewhile(lambda x: x < 3, map(self.step, range(n))))


def later(self, n):
    steps = (self.step(i) for i in range(n))
    self.count = 7
    return list(steps)


def start_is_read_first(self, n):
    return sum(map(self.step, range(n)), self.count)


@pytest.mark.parametrize("work", [any_of, all_of, next_of, loop, by_turns, not_all, later, start_is_read_first])
def test_elements_that_change_something(work):
    with pytest.raises(CompileError, match=r"elements of this iterator changes the attribute `count`.*"):
        build(counting(work), sample=COUNTS)


def a_name(self, n):
    total, found = 0, []
    for x in (i + total for i in range(n)):
        total += 1
        found.append(x)
    return found


def by_a_lambda(self, n):
    total, found = 0, []
    for x in map(lambda i: i + total, range(n)):
        total += 1
        found.append(x)
    return found


def a_list(self, n):
    found = []
    for x in filter(lambda i: i not in found, [1, 1, 2, n]):
        found.append(x)
    return found


def beside_another(self, n):
    found = [1]
    for x, y in zip(range(n), (len(found) for _ in range(n)), strict=True):
        found.append(x + y)
    return found


def an_attribute(self, n):
    found = []
    for x in (i + self.count for i in range(n)):
        self.count += 1
        found.append(x)
    return found


def by_a_method(self, n):
    found = []
    for x in (i + self.now() for i in range(n)):
        self.count += 1
        found.append(x)
    return found


@pytest.mark.parametrize("work", [a_name, by_a_lambda, a_list, beside_another, an_attribute, by_a_method])
def test_elements_that_read_what_the_loop_changes(work):
    with pytest.raises(CompileError, match="is changed while an iterator that reads it is walked over"):
        build(counting(work), sample=COUNTS)


def put_into_what_they_read(self, n):
    found = []
    found.extend(i % 2 for i in range(n) if i % 2 not in found)
    return found


def test_elements_that_read_what_they_are_put_into():
    with pytest.raises(CompileError, match="are computed from `found`, into which they are put one after the other"):
        build(counting(put_into_what_they_read), sample=COUNTS)


def highest(self, n):
    return max((self.count + i for i in range(n)), key=self.step)


def lowest(self, n):
    return min(map(lambda i: self.count + i, range(n)), key=lambda k: self.step(k))


def highest_of_some(self, n):
    return max((i for i in range(n) if i <= self.count + 1), key=self.step, default=0)


def highest_of_named(self, n):
    sums = (self.count + i for i in range(n))
    return max(sums, key=self.step)


@pytest.mark.parametrize("work", [highest, lowest, highest_of_some, highest_of_named])
def test_keys_that_change_what_the_next_element_reads(work):
    with pytest.raises(CompileError, match="are computed from the attribute `count`, which the call changes meanwhile"):
        build(counting(work), sample=COUNTS)


def ordered(self, n):
    return sorted((self.count + i for i in range(n)), key=self.step), max((i + 1 for i in range(n)), key=self.step)


def test_keys_that_change_what_no_element_reads():
    agrees(counting(ordered), COUNTS)


class Nested(nn.Module):
    """A nested function, and another name of the model, change an attribute by `+=`."""

    def __init__(self) -> None:
        super().__init__()
        self.part = nn.Linear(2, 2)

    def forward(self, tree):
        self.count, self.part.hits, model = 0, 0, self

        def numbers(node):
            self.count += 1
            number = self.count
            return [number] + [x for child in node for x in numbers(child)]

        found = numbers(tree)
        model.count *= 3
        self.part.hits += len(found)
        below = list(map(numbers, tree))
        return found, below, self.count, self.part.hits, torch.zeros(2) + self.count


def test_attributes_that_nested_functions_add_to():
    agrees(Nested(), [[], [[], [[]]], [[[]], [], [[], []]]])
