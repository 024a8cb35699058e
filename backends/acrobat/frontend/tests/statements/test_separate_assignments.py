"""Several values that are assigned in one statement to names and attributes, as in statements of their own."""

# mypy: ignore-errors

from __future__ import annotations

import ast
from collections import defaultdict, deque

import pytest
import torch
from torch import nn

from backends.acrobat.frontend.separate_assignments import separate_assignments
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2], [2, 2], [7, 7, 1, 0, 3, 3], [0]]


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)


class Stack:
    def __init__(self):
        self.items, self.seen, self.count = [], set(), 0

    def put(self, x, k):
        self.items.append(x)
        self.seen.add(k)
        self.count += 1

    def get(self):
        return self.items.pop()


class Queue(Stack):
    def __init__(self):
        (self.items, self.seen), [self.count, self.last] = (deque(), set()), [0, None]

    def get(self):
        self.last, self.count = self.items.popleft(), 0
        return self.last


def objects_of_two_classes(self, xs):
    store = Stack() if xs[0] % 2 else Queue()

    def put(k):
        store.put(torch.tanh(self.e.weight[k]), k)

    for k in xs:
        put(k)
    total = torch.zeros(4)
    while store.items:
        total = torch.tanh(total + store.get())
    return total, len(store.seen)


class Pairs:
    def __init__(self, first):
        self.rows, self.by_length, self.names = [first], defaultdict(list), ["first"]

    def add(self, row, name):
        self.rows.append(row)
        self.by_length[len(name)].append(name)
        self.names.append(name)


def of_an_object_chosen_at_run_time(self, xs):
    odd, even = Pairs(self.e.weight[0]), Pairs(self.e.weight[1])
    for k in xs:
        (odd if k % 2 else even).add(self.e.weight[k], "w" * (k + 1))
    return torch.stack(odd.rows).sum(0), torch.stack(even.rows).sum(0), odd.names, even.names, len(odd.by_length)


def that_depend_on_one_another(self, xs):
    a, b, previous = [], [], None
    for x in xs:
        a, b = [x, *b], a
        previous, seen = x, [previous, x]
        c, a = a, b
        b, a = c, [len(b), x, -1]
    return a, b, seen[0], self.e.weight[b[0]]


def in_a_try(self, xs):
    found, word, at = None, "none", -1
    for i, x in enumerate(xs):
        try:
            found, word, at = {1: 2, 3: 4}[x], "found", i
        except KeyError:
            word, found = "lost", x
    return found, word, at, self.e.weight[0]


@pytest.mark.parametrize(
    "forward", [objects_of_two_classes, of_an_object_chosen_at_run_time, that_depend_on_one_another, in_a_try]
)
def test_values_assigned_in_one_statement(forward) -> None:
    agrees(with_forward(Words(), forward), LISTS)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("self.a, self.b = [], {}", "self.a = []\nself.b = {}"),
        ("a, self.b[0], (c, d) = f(a), None, ([], -1)", "a = f(a)\nself.b[0] = None\nc = []\nd = -1"),
        ("items, x.items = x.items, []", "items = x.items\nx.items = []"),
        ("x.items, items = [], x.items", "items = x.items\nx.items = []"),
        ("a, b = b, a", None),
        ("a, b = [], [a]", None),
        ("self.a, self.b = [], self.a", None),
        ("self.a, n = [], len(self.a)", None),
        ("self.a, n = 1, f()", None),
        ("a, b = [], lambda: a", None),
        ("a, b = [], [x for x in xs]", None),
        ("*a, b = [], []", None),
        ("a, b = c = [], []", None),
    ],
)
def test_which_statements_are_taken_apart(before, after) -> None:
    tree = ast.parse(f"if test:\n    pass\nelse:\n    {before}")
    separate_assignments(tree)
    assert "\n".join(map(ast.unparse, tree.body[0].orelse)) == ast.unparse(ast.parse(before if after is None else after))
