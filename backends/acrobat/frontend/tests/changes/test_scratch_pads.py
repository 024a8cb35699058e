"""Objects whose attributes are lists of lists that methods change item by item: the lists have no other name, or another one
sees the change."""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_unless_refused, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1], [9, 9], [6, 2, 2, 3, 3, 3, 7, 1]]


class Pad:
    """A tape for each row, with a pointer for each; the rows are copied, made by a comprehension and by `*`, and joined."""

    def __init__(self, xs):
        self.rows = [list(xs), [0] * len(xs)] + [[x + 1 for x in xs] for _ in range(1)]
        self.at = [0] * 3

    def write(self, row, value):
        self.rows[row][self.at[row]] = value
        self.at[row] = min(self.at[row] + 1, len(self.rows[row]) - 1)

    def read(self):
        return [row[i] for row, i in zip(self.rows, self.at, strict=True)]


def fill(pad, xs, depth):
    """A recursion, whose first parameter is no object of the model's class."""
    for x in xs:
        pad.write(x % 3, x + depth)
    if depth < 2:
        fill(pad, xs[1:], depth + 1)


def by_a_function(self, xs):
    pad = Pad(xs)
    fill(pad, xs, 0)
    return pad.rows, pad.at, pad.read(), xs


class Run:
    def __init__(self, xs):
        self.pad = Pad(xs)

    def step(self, pad, x, depth=0):
        pad.write(depth, x)
        if depth < 2:
            self.step(pad, x + 1, depth + 1)


def by_a_recursion(self, xs):
    run = Run(xs)
    pad = Pad(xs)
    for x in xs:
        run.step(pad, x)
    return pad.rows, pad.read()


class Digits:
    """Its rows are made by lambdas and by functions, one by one or for each element."""

    def __init__(self, xs):
        room = len(xs) + 1
        digits = lambda n: [int(c) for c in str(n).zfill(room)]  # noqa: E731
        self.rows = {"in": digits(sum(xs)), "carry": [0] * room, "out": digits(0)}
        self.others = [zeros(room), zeros(2), digits(7)]
        self.each = [zeros(x % 3 + 1) for x in xs]
        self.at = {name: room - 1 for name in NAMES}  # noqa: C420

    def write(self, name, value):
        self.rows[name][self.at[name]] = value
        self.at[name] = max(0, self.at[name] - 1)
        self.others[value % 3][0] += value
        self.each[-1][0] += 1


NAMES = ["in", "carry", "out"]


def zeros(n):
    return [0] * n


def write_all(pad, xs, depth, trace):
    for x in xs:
        pad.write(NAMES[x % 3], x + depth)
        trace["calls"].append((depth, NAMES[x % 3]))
    if depth < 2:
        write_all(pad, xs[1:], depth + 1, trace)


def of_made_rows(self, xs):
    pad, trace = Digits(xs), {"calls": [], "left": len(xs)}
    write_all(pad, xs, 0, trace)
    return pad.rows, pad.others, pad.each, pad.at, trace


@pytest.mark.parametrize("function", [by_a_function, by_a_recursion, of_made_rows], ids=lambda f: f.__name__)
def test_lists_with_no_other_name(function: Any) -> None:
    agrees(with_forward(nn.Module(), function), LISTS)


class Kept(Pad):
    """Its rows are lists that something else has, too."""

    def __init__(self, first, n):
        self.rows = [first] + [[0] * n, [0] * n]  # noqa: RUF005
        self.at = [0] * 3


class Repeated(Pad):
    def __init__(self, n):
        row = [0] * n
        self.rows = [row for _ in range(2)] + [[1] * n]
        self.at = [0, 0, 0]


def of_the_caller(self, xs):
    first = list(xs)
    pad = Kept(first, 2)
    pad.write(0, 77)
    return pad.rows, first


def of_a_copy(self, xs):
    rows = [[x, 1] for x in xs]
    copied = list(rows) + [[5]]  # noqa: RUF005
    copied[0][0] = 77
    return rows, copied


def of_one_list(self, xs):
    pad = Repeated(2)
    pad.write(0, xs[0])
    pad.write(2, 5)
    return pad.rows


def of_a_sum(self, xs):
    row = [1, 2]
    rows = [row] + [row for _ in xs]
    rows[0][0] = 77
    return rows, row


def of_a_lambda_that_makes_nothing(self, xs):
    row = [0, 0]
    same = lambda n: row  # noqa: E731
    made = lambda n: [row, [n]]  # noqa: E731
    rows, others = {"a": same(1), "b": same(2)}, made(3)
    rows["a"][0] = xs[0]
    others[0][1] = 5
    return rows["a"], rows["b"], others, row


def of_a_function_that_keeps_what_it_makes(self, xs):
    kept = []

    def make(n):
        new = [n]
        kept.append(new)
        return new

    rows = [make(x) for x in xs]
    rows[0][0] = 77
    return rows, kept


ALIASES = [
    of_the_caller,
    of_a_copy,
    of_one_list,
    of_a_sum,
    of_a_lambda_that_makes_nothing,
    of_a_function_that_keeps_what_it_makes,
]


@pytest.mark.parametrize("function", ALIASES, ids=lambda f: f.__name__)
def test_a_change_under_another_name_is_seen_or_refused(function: Any) -> None:
    agrees_unless_refused(with_forward(nn.Module(), function), LISTS, "seen")
