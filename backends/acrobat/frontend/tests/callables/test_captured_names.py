"""What nested functions see and change of the function around them, when they are values: in a choice, a `partial`, a
dictionary or a lambda, and where something else has the name of what they see."""

# mypy: ignore-errors
from __future__ import annotations

from functools import partial, reduce

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_unless_refused, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2], [2, 2], [0]]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.w = nn.Embedding(10, 4)

    def embed(self, i):
        return self.w(torch.tensor([i])).squeeze(0)


def alone(g, xs):
    k, ys = 100, [1]
    return [g(x) for x in xs], k, ys


def from_table(table, xs):
    k, ys = 100, [1]
    return [table["a" if x > 1 else "b"](x, 1) for x in xs], k, ys


def by_keywords(xs, **functions):
    k = 100
    return functions["f"](2) + k + functions["g"](1)


def around(h):
    k = 100
    return lambda a: h(a) + k


def given_on(self, xs):
    ys, k = [x + 1 for x in xs], 3

    def mix(a, b):
        return a * k + b + len(ys)

    def add(a):
        return a + k

    def double(a):
        return a * 2 + len(ys)

    one = partial(mix, 2)
    either = double if xs[0] > 2 else add
    first = alone(one, xs), alone(either, xs), from_table({"a": mix, "b": lambda p, q: p + q}, xs)
    return *first, by_keywords(xs, f=add, g=partial(add)), around(lambda a: add(a) + 1)(2), reduce(mix, xs)


def in_lambdas(self, xs):
    k = 3

    def times(a):
        return a * k

    apply = lambda f, k: f(k)  # noqa: E731
    after = lambda a: times(a) + 1  # noqa: E731

    def run(a):
        k = 100
        return after(a) + k

    return apply(times, 7), alone(lambda k: times(k) + k, xs), [run(x) for x in xs]


def in_comprehensions(self, xs):
    k = 3

    def times(a):
        return a * k

    after = lambda a: times(a) + k  # noqa: E731
    pairs = [times(k) + after(k) for k in range(k) if k != 1], {k: times(1) for k in xs}, sum(times(1) for k in xs)
    return *pairs, [[times(k) for k in [k, k + 1]] for k in xs], k


def captured_choice(self, xs):
    k, n = 3, len(xs)

    def times(a):
        return a * k

    def plus(a):
        return a + k

    pick, table = times if n > 2 else plus, {"a": times, "b": plus}

    def run(a):
        k = 100
        return pick(a) + table["a"](a) + k

    return [run(x) for x in xs]


@pytest.mark.parametrize("forward", [given_on, in_lambdas, in_comprehensions, captured_choice])
def test_names_mean_what_they_mean_in_the_function_around(forward):
    agrees(with_forward(Model(), forward), LISTS)


def by_table(self, xs):
    stack, queue = [], list(xs)

    def shift():
        stack.append(queue.pop(0))

    def join():
        right = stack.pop()
        stack.append((stack.pop() * 2 + right) % 10)

    steps = {"shift": shift, "join": join}
    count = 0
    while queue or len(stack) > 1:
        if len(stack) > 1 and (stack[-1] % 2 == 0 or not queue):
            steps["join"]()
        else:
            steps["shift"]()
        count += 1
    return self.embed(stack[0]), count


def by_choice(self, xs):
    found, total = [], 0

    def keep(x):
        nonlocal total
        found.append(self.embed(x))
        total += x

    def drop(x):
        nonlocal total
        total -= x

    steps = {0: keep, 1: drop}
    for x in xs:
        act = keep if x > 2 else drop
        act(x)
        steps[x % 2](x)
    return found, total


def records_and_objects(self, xs):
    best = {"count": 0, "score": torch.zeros(4)}

    def update(x):
        best["count"] += 1
        best["score"] = best["score"] * 2 + self.embed(x)

    for x in xs:
        update(x)
    update(1)
    return best["score"], best["count"]


def put(groups, i):
    groups.setdefault(i % 2, []).append(i)


def groups_of(self, xs):
    ours, theirs, seen = {}, {}, {}

    def visit(i):
        ours.setdefault(i % 2, []).append(i)
        if i not in seen:
            seen[i] = []
        seen[i].append(len(seen))
        if i < len(xs):
            visit(i + 1)

    visit(0)
    visit(1)
    for x in xs:
        put(theirs, x)
    return ours, theirs, seen


@pytest.mark.parametrize("forward", [by_table, by_choice, records_and_objects, groups_of])
def test_captured_values_are_changed(forward):
    agrees(with_forward(Model(), forward), LISTS)


def test_lists_that_a_chosen_function_keeps():
    """What is put into a captured list has another name there."""

    def forward(self, xs):
        rows, row = [], [1]

        def keep(r):
            rows.append(r)

        def copied(r):
            rows.append(list(r))

        for x in xs:
            act = keep if x > 2 else copied
            act(row)
            row.append(x)
        rows[0].append(7)
        return rows, row

    agrees_unless_refused(with_forward(Model(), forward), LISTS, "changes a|another name")


def test_a_variable_with_the_name_of_another_one():
    def forward(self, xs):
        k = 3

        def times(a):
            return a * k

        def run(k):
            return times(1) + k

        return [run(x) for x in xs]

    with pytest.raises(CompileError, match="`run` has a variable `k` of its own, and calls a function that sees another `k`"):
        build(with_forward(Model(), forward), sample=LISTS)


def test_a_captured_lambda_that_sees_what_changes():
    def forward(self, xs):
        k = 3

        def times(a):
            return a * k

        after = lambda a: times(a) + 1  # noqa: E731

        def run(a):
            nonlocal k
            k += 1
            return after(a) + k

        return [run(x) for x in xs], k

    agrees_unless_refused(with_forward(Model(), forward), LISTS, "sees `k`, to which the function that calls it gives another")
