"""Generators that change something: where all that they give is taken at once that is as in Python, elsewhere it is refused."""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import pytest
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward

SAMPLE = [[1, 2, 3], [4], [2, 2, 0, 1]]


class Item:
    def __init__(self, n):
        self.n, self.score = n, None


class Walks(nn.Module):
    def items(self, xs):
        for x in xs:
            yield Item(x)

    def popped(self, stack):
        while stack:
            yield stack.pop()

    def left(self, stack):
        while stack:
            stack.pop()
            yield stack

    def grown(self, seen, xs):
        for x in xs:
            seen.append(x)
            yield len(seen)

    def ticks(self, xs):
        for x in xs:
            self.k += x
            yield self.k


def new_objects(self, xs):
    found = list(self.items(xs))
    for i in found:
        i.score = i.n * 2
    return [i.score for i in found]


def emptied(self, xs):
    stack = [x + 1 for x in xs]
    out = list(self.popped(stack))
    return out, stack, sum(self.popped(out)), len(out)


def given_itself(self, xs):
    stack = [x + 1 for x in xs]
    return list(self.left(stack))


def in_a_loop(self, xs):
    seen, n = [1], 0
    for _ in list(self.grown(seen, xs)):
        n += len(seen)
    return n, seen


def an_attribute(self, xs):
    self.k = 0
    return list(self.ticks(xs)), self.k


@pytest.mark.parametrize("function", [new_objects, emptied, given_itself, in_a_loop, an_attribute])
def test_as_python(function: Any) -> None:
    agrees(with_forward(Walks(), function), SAMPLE)


def put_in(self, xs):
    seen = [1]
    seen.extend(self.grown(seen, xs))
    return seen


def walked_over(self, xs):
    seen, n = [1], 0
    for _ in self.grown(seen, xs):
        n += len(seen)
    return n


@pytest.mark.parametrize("function", [put_in, walked_over])
def test_one_after_the_other_is_refused(function: Any) -> None:
    with pytest.raises(CompileError, match=r"`seen` (is changed )?while"):
        build(with_forward(Walks(), function), sample=SAMPLE)
