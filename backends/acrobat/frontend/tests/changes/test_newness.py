"""What functions give is changed by their callers where it is new, also part by part; what something else refers to is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, agrees_unless_refused, with_forward

LISTS = [[1, 0], [0, 2, 3], [2]]


class Environment:
    def __init__(self, size):
        self.size = size
        self.time = 0
        self.seen = []

    def observation(self):
        return [self.time, self.size]

    def step(self, action):
        self.time += action
        self.seen.append(action)
        return self.observation(), self.time > 3

    def history(self):
        return self.seen, self.time


class Model(nn.Module):
    def two(self, xs):
        return list(xs), [len(xs)]

    def both(self, xs):
        return self.two(xs)

    def with_length(self, xs):
        ys = list(xs)
        return ys, len(ys)

    def same(self, xs):
        ys = list(xs)
        return ys, ys

    def one_in_other(self, xs):
        ys = list(xs)
        return ys, [ys]

    def given(self, xs, n):
        return xs, n

    def on_some_paths(self, xs):
        if len(xs) > 1:
            return xs, 1
        return [2], 3

    def view(self, n):
        t = torch.ones(3) * n
        return t, t[0:2]

    def tensors(self, h):
        return torch.softmax(h, 0), h * 2

    def built(self, n):
        if n == 0:
            return [], 0
        ys, k = self.built(n - 1)
        ys.append(n)
        return ys, k + 1

    def shared_at_the_bottom(self, n, xs):
        if n > 0:
            ys = self.shared_at_the_bottom(n - 1, xs)
            ys.append(n)
            return [len(ys)]
        return xs

    def behind(self, xs, n):
        return xs[n:]

    def repeated(self, xs):
        for i, x in enumerate(xs):
            if x in xs[:i]:
                return xs[i:]
        return None

    def first_or_all(self, xs):
        for x in xs:
            if x > 0:
                return [x]
        return list(xs)

    def own_row(self, rows):
        for row in rows:
            if row:
                return row
        return [1]

    def copied_rows(self, rows):
        for i in range(len(rows)):
            if rows[i]:
                return rows[i:]
        return []


def lists(self, xs):
    a, b = self.two(xs)
    c, n = self.with_length(a)
    d, e = self.both(a)
    a.append(5)
    b.append(6)
    c.append(7)
    e.append(8)
    return a, b, c, n, d, e


def state(self, xs):
    environment, out = Environment(len(xs)), []
    for x in xs:
        observation, done = environment.step(x)
        observation.append(int(done))
        out.append(observation)
    return out, environment.time, environment.seen


def tensors(self, xs):
    h, out = torch.ones(4), []
    for x in xs:
        d, h = self.tensors(h)
        d[0] = 0
        out.append(d * x)
    return out, h


def recursion(self, xs):
    return self.built(len(xs))


def slices(self, xs):
    a = self.behind(xs, 1)
    a.append(7)
    ys = [*xs, 2, 1]
    found, n = self.repeated(ys), 0
    while found is not None:
        ys[len(ys) - len(found)] = -n
        found.append(3)
        found, n = self.repeated(ys), n + 1
    first = self.first_or_all(xs)
    first.append(9)
    return a, ys, n, first


@pytest.mark.parametrize("function", [lists, state, tensors, recursion, slices], ids=lambda f: f.__name__)
def test_what_is_new_may_be_changed(function: Any) -> None:
    agrees(with_forward(Model(), function), LISTS)


def everything(self, xs):
    return lists(self, xs), state(self, xs), tensors(self, xs), recursion(self, xs), slices(self, xs)


def test_generated_code(tmp_path: Path) -> None:
    agrees_natively(with_forward(Model(), everything), LISTS, "vm", tmp_path)


def two_names(self, xs):
    a, b = self.same(xs)
    a.append(7)
    return a, b


def inside(self, xs):
    a, b = self.one_in_other(xs)
    a.append(7)
    return a, b


def argument(self, xs):
    ys = list(xs)
    a, _ = self.given(ys, 1)
    a.append(7)
    return a, ys


def some_paths(self, xs):
    ys = list(xs)
    a, _ = self.on_some_paths(ys)
    a.append(7)
    return a, ys


def views(self, xs):
    a, b = self.view(len(xs))
    a[0] = 5
    return a, b


def attribute(self, xs):
    environment = Environment(1)
    a, _ = environment.history()
    a.append(5)
    return a, environment.seen


def bottom(self, xs):
    ys = list(xs)
    return self.shared_at_the_bottom(2, ys), ys


def row(self, xs):
    rows = [list(xs), [2]]
    a = self.own_row(rows)
    a.append(7)
    return a, rows


def row_of_a_copy(self, xs):
    rows = [list(xs), [2]]
    a = self.copied_rows(rows)
    a[0].append(7)
    return a, rows


SHARED = [two_names, inside, argument, some_paths, views, attribute, bottom, row, row_of_a_copy]


@pytest.mark.parametrize("function", SHARED, ids=lambda f: f.__name__)
def test_what_is_shared_may_not(function: Any) -> None:
    agrees_unless_refused(with_forward(Model(), function), LISTS, "may be seen")
