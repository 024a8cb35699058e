"""Generators that change something: where all that they give is taken at once that is as in Python, elsewhere it is refused."""

# mypy: ignore-errors

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
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

    def pairs(self, stack):
        while stack:
            x = stack.pop()
            yield x % 3, -x

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


def by_first_part(self, xs):
    stack = [x + 1 for x in xs]
    best = max(self.pairs(stack), key=lambda pair: pair[0])
    return best, stack


def by_several_parts(self, xs):
    seen = [1]

    def numbered():
        for x in xs:
            seen.append(x)
            yield (x, len(seen)), x

    return min(numbered(), key=lambda pair: (-pair[0][0], 2 * pair[-1] + pair[0][1])), seen


def by_itself(self, xs):
    self.k = 0
    return min(self.ticks(xs), key=lambda k: -k), self.k


def of_a_list_that_is_made_before(self, xs):
    seen = [1]

    def made():
        seen.append(len(xs))
        return [([x % 3], x) for x in xs]

    return max(made(), key=lambda pair: pair[0])[1], seen


def by_memoised_score(self, xs):
    @functools.cache
    def best(i):
        def options():
            for j in range(i):
                total, way = best(j)
                yield total + xs[j] * (i - j) % 5, (*way, j)
            yield -i, ()

        return max(options(), key=lambda option: option[0])

    return max((best(i) for i in range(len(xs) + 1)), key=lambda option: option[0])


@pytest.mark.parametrize(
    "function", [by_first_part, by_several_parts, by_itself, of_a_list_that_is_made_before, by_memoised_score]
)
def test_compared_by_parts_that_cannot_change(function: Any) -> None:
    agrees(with_forward(Walks(), function), SAMPLE)


def by_what_changes(self, xs):
    counts = [0, 0]

    def counted():
        for x in xs:
            counts[x % 2] += 1
            yield x, x % 2

    return max(counted(), key=lambda pair: counts[pair[1]])


def by_a_list_that_changes(self, xs):
    lists = [[0], [0]]

    def lengthened():
        for x in xs:
            lists[x % 2].append(x)
            yield lists[x % 2], x

    return max(lengthened(), key=lambda pair: pair[0])[1]


def by_the_length_of_a_list_that_changes(self, xs):
    stack = [x + 1 for x in xs]
    return len(max(self.left(stack), key=lambda left: len(left)))


def by_a_tensor(self, xs):
    seen = [1]

    def totals():
        total = torch.zeros(1)
        for x in xs:
            seen.append(x)
            total += x % 2
            yield total, x

    return max(totals(), key=lambda pair: pair[0])[1]


@pytest.mark.parametrize(
    "function", [by_what_changes, by_a_list_that_changes, by_the_length_of_a_list_that_changes, by_a_tensor]
)
def test_compared_by_what_may_change_is_refused(function: Any) -> None:
    with pytest.raises(CompileError, match=r"while it is walked over|meanwhile|changes a tensor in place"):
        build(with_forward(Walks(), function), sample=SAMPLE)


def walked_over(self, xs):
    seen, n = [1], 0
    for _ in self.grown(seen, xs):
        n += len(seen)
    return n


@pytest.mark.parametrize("function", [new_objects, emptied, given_itself, in_a_loop, an_attribute, walked_over])
def test_as_python(function: Any) -> None:
    agrees(with_forward(Walks(), function), SAMPLE)


def put_in(self, xs):
    seen = [1]
    seen.extend(self.grown(seen, xs))
    return seen


def test_one_after_the_other_is_refused() -> None:
    with pytest.raises(CompileError, match="`seen` while"):
        build(with_forward(Walks(), put_in), sample=SAMPLE)
