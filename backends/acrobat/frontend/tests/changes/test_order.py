# mypy: ignore-errors
"""Expressions of which one part changes a list or object that another part names: Python's order, or an error at the line."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.changes.test_deferred_changes import vectors
from backends.acrobat.frontend.tests.test_idioms import module
from backends.acrobat.tests.zoo.check import agrees


class Stack:
    def __init__(self):
        self.items = []

    def push(self, x):
        self.items.append(x)

    def pop(self):
        return self.items.pop()

    def __len__(self):
        return len(self.items)


def size_and(xs, y):
    return len(xs), y


class InOrder(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def stack(self, x):
        return [x, x + 1, x + 2, x + 3, x + 4, x + 5]

    def forward(self, x):
        stack, xs = Stack(), self.stack(x)
        for y in xs:
            stack.push(y)
        stack.push(self.inner(stack.pop()))
        stack.push(self.inner(stack.pop()) + stack.pop())
        xs.append(self.inner(xs.pop()))
        first, second = size_and(xs, xs.pop()), size_and(stack, stack.pop())
        third = size_and(xs=xs, y=xs.pop())
        return first, second, third, len(stack), len(xs), xs.pop(), len(xs)


class Joined(nn.Module):
    def forward(self, x):
        xs = [x, x]
        return xs + [xs.pop()]  # noqa: RUF005


class Indexed(nn.Module):
    def forward(self, x):
        xs = [x, x]
        return xs[int(xs.pop().sum() > 0) - 1]


class Starred(nn.Module):
    def forward(self, x):
        xs = [x, x]
        return size_and(xs, *(xs.pop(),))


@pytest.mark.parametrize("model", [InOrder, Starred], ids=lambda m: m.__name__)
def test_in_order(model):
    torch.manual_seed(0)
    agrees(model(), vectors())


REFUSED = {
    Joined: "`xs` is changed later in the same expression",
    Indexed: "`xs` is changed later in the same expression",
}


@pytest.mark.parametrize(("model", "told"), REFUSED.items(), ids=lambda x: getattr(x, "__name__", ""))
def test_says_what_to_write(model, told):
    with pytest.raises(CompileError, match=told):
        build(model(), sample=vectors())


def compared(xs):
    xs, out = list(xs), []
    if xs.pop() == 1 and xs:
        out.append(0)
    elif xs.pop() > 1:
        out.append(1)
    assert xs.pop() != len(xs) + 9
    sizes = len(xs) == xs.pop() + len(xs)
    while xs.pop() < 5:
        out.append(2)
    same = xs.pop() == xs.pop()
    return out, xs, sizes, same


def compared_too_late(xs):
    xs = list(xs)
    return xs == [xs.pop()]


def compared_in_a_chain(xs):
    xs = list(xs)
    return 0 < xs.pop() < 3, xs


def test_comparisons_may_change_a_list():
    agrees(module(compared), [[1, 2, 9, 4, 3, 2, 1], [2, 2, 6, 1, 1, 2, 2], [3, 1, 7, 0, 1, 0, 2, 1]])


@pytest.mark.parametrize(
    ("function", "told"),
    [(compared_too_late, "is changed later in the same expression"), (compared_in_a_chain, "parts are computed several times")],
)
def test_comparisons_of_which_parts_come_too_early_or_not_at_all(function, told):
    with pytest.raises(CompileError, match=told):
        build(module(function), sample=[[3, 1, 2], [1, 1]])
