"""Loops over sets that change lists and sets in entries of a dictionary or list, that look up missing keys of a
`defaultdict`, or that walk over a copy of a set which they change. Against eager PyTorch."""

# mypy: ignore-errors
# ruff: noqa: C420, SIM113 (loops are what is tested)

from __future__ import annotations

import heapq
from collections import defaultdict
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, with_forward

SAMPLE = [[1, 2, 5, 3], [0], [], [4, 4, 7, 1, 5], [6, 2]]
COMMON = {"w2", "w0"}


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)
        self.names = {i: f"w{i}" for i in range(10)}


def lists_of_a_defaultdict(self, xs):
    index = defaultdict(list)
    for i, x in enumerate(xs):
        for name in {self.names[x], self.names[x // 2]} - COMMON:
            index[name].append(i)
    return [index.get(self.names[x], [-1]) for x in range(10)]


def sets_and_dictionaries(self, xs):
    near, rows, where = defaultdict(set), [[] for _ in range(10)], defaultdict(dict)
    for x in set(xs) | {3}:
        near[x].add(x + 1)
        near[x].update({x, x + 2})
        near[x].discard(4)
        rows[x].append(self.e.weight[x])
        rows[x].extend([self.e.weight[0], rows[x][0] * 2])
        where[x].update({x: x * x})
    return [sorted(near[x]) for x in xs], [torch.stack(row) for row in rows if row], [where[x][x] for x in xs]


def lists_that_rounds_read(self, xs):
    index, n = defaultdict(list), 0
    for x in xs:
        index[x].append(x)
    for x in set(xs):
        index[x].append(len(index[x]) + sum(index[x]))
        index[x].pop(0)
        n += index[x][0]
    return [index[x] for x in xs], n


def missing_keys(self, xs):
    index, counts, found, n = defaultdict(list), defaultdict(int), set(), 0
    for x in xs:
        index[x].append(x + 1)
        counts[x] += 1
    for x in set(xs) | {3}:
        found.update(index[x // 2])
        n += counts[x // 2] + len(index[x // 2])
    return sorted(found), n, index.get(1, [5]), counts.get(1, 0), len(index)


def copy_of_a_changed_set(self, xs):
    found, more = set(xs), {self.names[x] for x in xs}
    for x in list(found):
        if x % 2:
            found.update([x + 1, 2 * x])
        found.discard(x)
    for name in tuple(more):
        for letter in name:
            more.add(letter)
    left = set(xs) | {1}
    for x in left - {2}:
        left.discard(x // 2)
    return sorted(found), sorted(more), sorted(left)


FUNCTIONS = [lists_of_a_defaultdict, sets_and_dictionaries, lists_that_rounds_read, missing_keys, copy_of_a_changed_set]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_eager(function: Any) -> None:
    agrees(with_forward(Words(), function), SAMPLE)


def entry_of_another_round(self, xs):
    index = defaultdict(list)
    for x in set(xs) | {0}:
        index[x // 2].append(x)
    return [index.get(x, []) for x in xs]


def order_of_keys(self, xs):
    index = defaultdict(list)
    for x in set(xs) | {0}:
        index[x].append(1)
    return list(index)


def length_that_grows(self, xs):
    index = defaultdict(list)
    for x in set(xs) | {0}:
        index[x].append(len(index))
    return [index.get(x, []) for x in xs]


def what_rounds_count(self, xs):
    index, n = defaultdict(list), 0
    for x in set(xs) | {0}:
        n += 1
        index[x].append(n)
    return [index.get(x, []) for x in xs]


def also_under_another_key(self, xs):
    index = defaultdict(list)
    for x in set(xs) | {0}:
        index[x].append(x)
        index[0].append(x)
    return [index.get(x, []) for x in xs]


def until_one_is_found(self, xs):
    index = defaultdict(list)
    for x in set(xs) | {0}:
        index[x].append(x)
        if x > 2:
            break
    return [index.get(x, []) for x in xs]


def keys_entered_until_one_is_found(self, xs):
    counts, high = defaultdict(int), False
    for x in set(xs) | {0}:
        if counts[x // 2] == 0 and x > 2:
            high = True
            break
    return len(counts), high


def order_of_entered_keys(self, xs):
    counts, n = defaultdict(int), 0
    for x in set(xs) | {0}:
        n += counts[x // 2]
    return n, list(counts)


def entered_keys_that_are_asked_for(self, xs):
    counts, n = defaultdict(int), 0
    for x in set(xs) | {0}:
        n += counts[x // 2] + (x in counts)
    return n, len(counts)


def entries_changed_by_a_method(self, xs):
    index, n = defaultdict(list), 0
    for x in set(xs) | {0}:
        n += self.grow(index[x // 2], x)
    return n, [index.get(x, []) for x in range(10)], len(index)


def smallest_taken_from_entries(self, xs):
    index, n = defaultdict(list), 0
    for x in xs:
        index[0].append(x)
        index[0].append(x + 1)
    for x in set(xs) | {0}:
        least = heapq.heappop(index[x * 0])
        n += least * x
    return n, [index.get(x, []) for x in range(10)], len(index)


def grow(self, row, x):
    row.append(x)
    return len(row)


def keys_that_a_function_asks_for(self, xs):
    counts, n = defaultdict(int), 0

    def has(x):
        return x in counts

    for x in set(xs) | {0}:
        n += counts[x // 2] + has(x)
    return n, len(counts)


def changed_while_walked(self, xs):
    found = set(xs) | {0}
    for x in found:
        found.discard(x + 1)
    return sorted(found)


def copy_that_rounds_read(self, xs):
    found, n = set(xs) | {0}, 0
    for x in list(found):
        found.discard(x + 1)
        n += x in found
    return n


REFUSED = [
    entry_of_another_round, order_of_keys, length_that_grows, what_rounds_count, also_under_another_key, until_one_is_found,
    keys_entered_until_one_is_found, order_of_entered_keys, entered_keys_that_are_asked_for, entries_changed_by_a_method,
    smallest_taken_from_entries, keys_that_a_function_asks_for, changed_while_walked,
    copy_that_rounds_read,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_an_order_that_may_show_is_refused(function: Any) -> None:
    model = Words()
    model.grow = grow.__get__(model)
    with pytest.raises(CompileError, match="the order of a set is not known"):
        build(with_forward(model, function), sample=SAMPLE)


def test_one_list_in_several_entries_is_refused() -> None:
    def one_list(self, xs):
        row = []
        rows = {x: row for x in range(10)}
        for x in set(xs) | {0}:
            rows[x].append(x)
        return row

    with pytest.raises(CompileError):
        build(with_forward(Words(), one_list), sample=SAMPLE)


def test_lists_at_indices_that_count_from_the_end_are_an_error_of_the_instance() -> None:
    def from_the_end(self, xs):
        rows = [[] for _ in range(10)]
        for x in set(xs):
            rows[x].append(x)
        return rows

    interpreter = Interpreter(build(with_forward(Words(), from_the_end), sample=SAMPLE))
    assert interpreter.run([2, 1]) == [[], [1], [2], *[[]] * 7]
    with pytest.raises(InstanceError, match="one is negative"):
        interpreter.run([9, -1])
