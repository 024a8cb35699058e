"""Changes in place that a called function, or the model by an attribute of its own, sees under a second name: as in eager
Python, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.acrobat.frontend.tests.test_own_model import with_forward
from backends.acrobat.tests.zoo.check import agrees, agrees_unless_refused

HEAD = """
import torch
import torch.nn as nn


class State:
    def __init__(self):
        self.left = [0.5]
        self.right = [0.25]


def append_and_count(xs, ys):
    xs.append(1.0)
    return len(ys)


def append_inside(rows, row):
    rows[0].append(1.0)
    return len(row)


def drop_and_call(xs, f):
    xs.append(9.0)
    return f()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def start(self, xs):
        self.h = self.linear(torch.full((3,), xs[0]))

    def change(self):
        self.h[0] = 7.0

    def change_and_use(self, y):
        self.h[0] = 7.0
        return y + 1.0

    def keep(self, x):
        self.h[1] = x
        return self.h

    def add_to(self, xs):
        xs.append(2.0)
        return len(self.items)

"""

REFUSED = {
    "a list given twice": """
        a = list(xs)
        return append_and_count(a, a)
""",
    "a list given twice, by name": """
        a = list(xs)
        return append_and_count(xs=a, ys=a)
""",
    "a list and a part of it": """
        a = [[x] for x in xs]
        return append_inside(a, a[0])
""",
    "two parts that may be one": """
        a = [[x] for x in xs]
        return append_and_count(a[0], a[-1])
""",
    "a list and a lambda that sees it": """
        a = list(xs)
        return drop_and_call(a, lambda: len(a))
""",
    "a list in a tuple": """
        a = list(xs)
        return append_and_count(a, (a, 1))
""",
    "a name for the values of a dictionary": """
        d = {len(xs): 1}
        seen = d.values()
        d[100] = 5
        return sum(seen)
""",
    "a tensor that an attribute is, changed by a method": """
        self.start(xs)
        y = self.h
        self.change()
        return y
""",
    "a tensor that an attribute is, in a list": """
        self.start(xs)
        y = [self.h]
        self.change()
        return y
""",
    "a tensor that an attribute is, given to the method": """
        self.start(xs)
        return self.change_and_use(self.h)
""",
    "a row of a tensor that an attribute is, given to the method": """
        self.start(xs)
        return self.change_and_use(self.h[0])
""",
    "a tensor that an attribute is, kept in each round": """
        self.start(xs)
        return [self.keep(x) for x in xs]
""",
    "a list that an attribute is, given to the method": """
        self.items = []
        return self.add_to(self.items)
""",
    "a tensor of the model that gets another name as an attribute": """
        self.h = self.linear.bias
        self.h += 1
        return self.linear(torch.full((3,), xs[0]))
""",
    "a tensor around a nested function that changes it": """
        r = self.linear(torch.full((3,), xs[0]))

        def step(x):
            nonlocal r
            r += 1
            r = r + x
            return x

        return step(r), r
""",
    "a tensor around a nested function that has another one change it": """
        r = self.linear(torch.full((3,), xs[0]))

        def change(t):
            t.mul_(2)
            return t

        def step(x):
            nonlocal r
            y = change(r)
            r = y + x
            return x

        return step(r), r
""",
    "a list around a nested function that gives the name another one": """
        r = [*xs]

        def step(ys):
            nonlocal r
            r.append(1.0)
            r = [*ys, 2.0]
            return len(ys)

        return step(r), r
""",
}

RIGHT = {
    "a tensor that gets another name as an attribute": """
        y = self.linear(torch.full((3,), xs[0]))
        self.h = y
        self.h += 1
        return y
""",
    "two attributes of an object": """
        s = State()
        return append_and_count(s.left, s.right), s.left
""",
    "a list and an item of it": """
        a = list(xs)
        return append_and_count(a, [a[0]]), a
""",
    "a list and a copy": """
        a = list(xs)
        return append_and_count(a, list(a)), a
""",
    "a tensor that an attribute alone is": """
        self.start(xs)
        self.change()
        return self.h.clone(), self.change_and_use(self.h.clone())
""",
    "a tensor around a nested function that gives the name another one": """
        r = self.linear(torch.full((3,), xs[0]))

        def step(x):
            nonlocal r
            before = x + r
            r = self.linear(x) - r
            return before + x * r

        first = step(r)
        for _ in xs:
            first = first + step(r)
        return step(r), first, r
""",
    "a counter that nothing reads": """
        self.calls = 0
        self.calls += 1
        return xs
""",
}

SAMPLE = [[1.0], [0.5, 2.0], [3.0, 1.0, 0.25]]


@pytest.mark.parametrize("what", RIGHT)
def test_changes_that_one_name_alone_sees(tmp_path: Path, what: str) -> None:
    agrees(with_forward(tmp_path, HEAD, RIGHT[what], f"one_name{list(RIGHT).index(what)}"), SAMPLE)


@pytest.mark.parametrize("what", REFUSED)
def test_changes_that_are_seen_twice(tmp_path: Path, what: str) -> None:
    model = with_forward(tmp_path, HEAD, REFUSED[what], f"two_names{list(REFUSED).index(what)}")
    agrees_unless_refused(model, SAMPLE, r"under (an)?other name|may be seen elsewhere")
