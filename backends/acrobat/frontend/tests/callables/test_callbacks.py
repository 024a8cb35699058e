"""Nested functions that change what they see, given to other functions: to functions of the file, methods, other nested
functions, in recursions, together with other functions that see the same, and under names that the functions called
have themselves."""

# mypy: ignore-errors
from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_unless_refused, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2], [2, 2], [0]]
TREES = [
    {"word": 3, "children": []},
    {"word": 1, "children": [{"word": 2, "children": []}, {"word": 4, "children": [{"word": 1, "children": []}]}]},
]


def for_each(xs, note):
    for x in xs:
        note(x)


def walk(tree, note):
    note(tree["word"])
    for child in tree["children"]:
        walk(child, note)


def same_names(out, total, note, *, after=None):
    """Has variables of the names that its argument sees."""
    x, total = 0, total + 1
    for y in out:
        x += y
        note(y)
    if after is not None:
        after(x)
    out = [total, x]
    return out[0], out


def through_nested(tree, note):
    count = 0

    def go(node, depth):
        nonlocal count
        count += 1
        note(node["word"] + depth)
        for child in node["children"]:
            go(child, depth + 1)

    go(tree, 0)
    return count


def both(xs, one, other):
    seen = []
    for x in xs:
        one(x)
        seen.append(other())
    return seen


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.w = nn.Embedding(10, 4)

    def embed(self, i):
        return self.w(torch.tensor([i])).squeeze(0)

    def visit(self, node, emit, depth=0):
        emit(node["word"] + depth)
        for child in node["children"]:
            self.visit(child, emit, depth + 1)

    def deeper(self, node, note, level):
        """Gives itself a function that changes a list of its own, and calls the one that it was given."""
        found = []

        def collect(word):
            found.append(word)
            note(word)

        if level == 0:
            walk(node, collect)
            return len(found)
        return self.deeper(node, collect, level - 1) + len(found)


def lists_and_dicts(self, tree):
    states, counts, total = [], {}, 0

    def emit(word):
        nonlocal total
        states.append(self.embed(word))
        counts[word] = counts.get(word, 0) + 1
        total += word

    self.visit(tree, emit)
    walk(tree, emit)
    count = through_nested(tree, emit)
    return torch.stack(states).sum(0), counts, total, count, len(states)


def in_loops(self, xs):
    out, best, total = [1], torch.zeros(4), 0

    def note(x):
        nonlocal total, best
        out.append(x)
        total += x
        best = torch.maximum(best, self.embed(x))

    for _ in range(len(xs)):
        for_each(xs, note)
    given = same_names(xs, 5, note, after=note if xs[0] == 3 else None)
    return out, best, total, given


def that_call_others(self, xs):
    out = []

    def put(x):
        out.append(x * 2)

    def note(x):
        if x > 1:
            put(x)
        else:
            out.append(0)

    def run(ys):
        for_each(ys, note)
        return len(out)

    return [run(xs[:2]), run(xs)], out


def folded(self, tree):
    states = []

    def fold(node, f):
        return f(node, [fold(c, f) for c in node["children"]])

    def combine(node, kids):
        h = self.embed(node["word"])
        for k in kids:
            h = h + torch.tanh(k)
        states.append(h)
        return h

    return fold(tree, combine), len(states), states


def called_by_name(self, tree):
    states = []

    def combine(node, kids):
        h = self.embed(node["word"]) + len(kids)
        states.append(h)
        return h

    def fold(node):
        return combine(node, [fold(c) for c in node["children"]])

    return fold(tree), states


def two_that_see_one(self, xs):
    out = []

    def one(x):
        out.append(x)

    def other():
        return len(out)

    return both(xs, one, other), out


@pytest.mark.parametrize(
    ("forward", "sample"),
    [
        (lists_and_dicts, TREES),
        (in_loops, LISTS),
        (that_call_others, LISTS),
        (folded, TREES),
        (called_by_name, TREES),
        (two_that_see_one, LISTS),
    ],
)
def test_given_functions_change_what_they_see(forward, sample):
    agrees(with_forward(Model(), forward), sample)


def seen_by_a_lambda(self, xs):
    out = []

    def one(x):
        out.append(x)

    return both(xs, one, lambda: len(out)), out


def seen_by_a_partial(self, xs):
    out, k = [], 2

    def one(x):
        out.append(x)

    def other(a):
        return len(out) * a + k

    return both(xs, one, partial(other, 3)), out


def with_the_list_itself(self, xs):
    out = list(xs)

    def note(x):
        if len(out) < 9:
            out.append(x)

    for_each(out, note)
    return out


def with_the_list_as_data(self, xs):
    out = [1]

    def note(x):
        out.append(x)

    return same_names(out, 2, note), out


def puts_the_same_twice(self, xs):
    rows, row = [], []

    def note(x):
        row.append(x)
        rows.append(row)

    for_each(xs, note)
    row.append(7)
    return rows, row


def of_two_calls(self, tree):
    out = []

    def note(word):
        out.append(word)

    return self.deeper(tree, note, 0), self.deeper(tree, note, 1), out


def of_three_calls(self, tree):
    out = []

    def note(word):
        out.append(word)

    return self.deeper(tree, note, 2), out


def by_map(self, xs):
    out = []

    def note(x):
        out.append(x)
        return x + len(out)

    return list(map(note, xs)), sorted(xs, key=note), out


def given_on_by_a_tuple(self, xs):
    out = []

    def note(x):
        out.append(x)

    for act in (note, note):
        for_each(xs, act)
    return out


def counted(self, xs):
    n = 0

    def note(x):
        nonlocal n
        n += x

    def twice(ys, f):
        for_each(ys, f)
        for_each(ys, f)
        return n

    return twice(xs, note), n


REFUSED = "called by name|another name|see|gives nothing|loop around|changes|lambda"


@pytest.mark.parametrize(
    ("forward", "sample"),
    [
        (seen_by_a_lambda, LISTS),
        (seen_by_a_partial, LISTS),
        (with_the_list_itself, LISTS),
        (with_the_list_as_data, LISTS),
        (puts_the_same_twice, LISTS),
        (of_two_calls, TREES),
        (of_three_calls, TREES),
        (by_map, LISTS),
        (given_on_by_a_tuple, LISTS),
        (counted, LISTS),
    ],
)
def test_right_or_refused(forward, sample):
    agrees_unless_refused(with_forward(Model(), forward), sample, REFUSED)
