"""Recursions that put something at the end of a list, call themselves and take it out again: a call that changes two lists
leaves both to their names where it has put neither into the other."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_unless_refused, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2], [2, 2], [], [0, 7]]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.w = nn.Embedding(10, 4)

    def search(self, xs, i, path, results):
        if len(path) == 2:
            results.append(list(path))
            return
        for j in range(i, len(xs)):
            path.append(xs[j])
            self.search(xs, j + 1, path, results)
            path.pop()

    def keep(self, path, results):
        path.append(1)
        results.append(path)

    def keep_some(self, path, results):
        path.append(2)
        if len(path) > 3:
            self.keep(path, results)

    def keep_row(self, rows, results):
        rows.append([1])
        results.append(rows[0])

    def shift(self, path, results):
        results.append(path.pop() if path else 0)
        path.append(len(results))


def by_method(self, xs):
    results = []
    self.search(xs, 0, [], results)
    return results


def captured(self, xs):
    results, path = [], []

    def go(i):
        if i == len(xs):
            results.append(list(path))
            return
        path.append(xs[i])
        go(i + 1)
        path.pop()
        if xs[i] % 2:
            go(i + 1)

    go(0)
    return results


def with_marks(self, xs):
    """Permutations: `used` is written to as well, and scores are tensors."""
    used, out = [False] * len(xs), []

    def go(path, score):
        if len(path) == min(len(xs), 3):
            out.append((path[:], score))
            return
        for i in range(len(xs)):
            if used[i]:
                continue
            used[i] = True
            path.append(xs[i])
            go(path, torch.tanh(score + self.w(torch.tensor(xs[i]))))
            path.pop()
            used[i] = False

    go([], torch.zeros(4))
    return out


@pytest.mark.parametrize("forward", [by_method, captured, with_marks])
def test_recursions_that_take_back(forward):
    agrees(with_forward(Model(), forward), LISTS)


def whole(self, xs):
    path, results = list(xs), []
    self.keep(path, results)
    path.append(5)
    return path, results


def sometimes(self, xs):
    path, results = list(xs), []
    self.keep_some(path, results)
    path.append(5)
    return path, results


def part(self, xs):
    rows, results = [[0], list(xs)], []
    self.keep_row(rows, results)
    rows[0].append(5)
    return rows, results


def changed_inside(self, xs):
    rows, results = [[0], list(xs)], []
    self.keep_row(rows, results)
    results[0].append(5)
    return rows, results


def by_capture(self, xs):
    path, results = list(xs), []

    def keep():
        path.append(1)
        results.append(path)

    keep()
    path.append(2)
    results[0].append(3)
    return path, results


def bound_anew(self, xs):
    path, results = list(xs), []

    def keep():
        nonlocal path
        path.append(1)
        results.append(path)
        path = [0]

    keep()
    path.append(2)
    results[0].append(3)
    return path, results


def in_recursion(self, xs):
    results = []

    def go(i, path):
        if i == len(xs):
            results.append(path)
            return
        path.append(xs[i])
        go(i + 1, path)
        path.append(9)

    go(0, [])
    return results


def chosen(self, xs):
    path, results = list(xs), []
    act = self.keep if len(xs) > 2 else self.shift_in
    act(path, results)
    path.append(4)
    return path, results


Model.shift_in = lambda self, path, results: results.append(path[:])


@pytest.mark.parametrize("forward", [whole, sometimes, part, changed_inside, by_capture, bound_anew, in_recursion, chosen])
def test_what_a_call_puts_into_another_list_is_seen_there(forward):
    agrees_unless_refused(with_forward(Model(), forward), LISTS, "another name|cannot be|not in the language|gives nothing")


def test_two_lists_of_numbers_after_a_call():
    def forward(self, xs):
        path, results = list(xs), []
        self.shift(path, results)
        self.shift(path, results)
        path.append(7)
        results.append(8)
        return path, results

    agrees(with_forward(Model(), forward), LISTS)
