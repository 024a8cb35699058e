"""Nested functions that call others, or remember their results, and are given to another function."""

# mypy: ignore-errors
from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[1, 2, 3], [4, 0], [7]]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.w = nn.Linear(4, 4)
        self.calls = 0

    def note(self, i):
        self.calls += 1
        return i

    @staticmethod
    def total(score, n):
        return sum(score(i) for i in range(n))


def apply(g, n):
    return [g(i) for i in range(n)]


def twice(g, n):
    return apply(g, n) + apply(lambda i: g(i) + 1, n)


def plain(self, xs):
    k = len(xs)

    def inner(i):
        return xs[i] * k

    def outer(i):
        return inner(i) + i

    first = apply(outer, k), twice(outer, k)
    k = 100
    return first, apply(outer, len(xs)), sorted(range(len(xs)), key=outer), self.total(outer, len(xs))


def recursive(self, xs):
    def even(i):
        return True if i <= 0 else odd(i - 1)

    def odd(i):
        return False if i <= 0 else even(i - 1)

    return apply(odd, len(xs)), twice(even, 2) == []


def cached(self, xs):
    @cache
    def row(i):
        return self.w.weight[xs[i] % 4] * 2

    @cache
    def pair(i):
        return row(i) + row(0)

    return torch.stack(apply(pair, len(xs))) + pair(0)


def remembered(self, xs):
    @cache
    def fib(i):
        return i if i < 2 else fib(i - 1) + fib(i - 2)

    before = fib(3)
    return before, apply(fib, len(xs) + 4), fib(xs[0]), sorted(xs, key=fib)


CASES = [plain, recursive, cached, remembered]


@pytest.mark.parametrize("forward", CASES, ids=[f.__name__ for f in CASES])
def test_as_python(forward: Any) -> None:
    agrees(with_forward(Model(), forward), LISTS)


def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Model(), cached), LISTS, codegen, tmp_path)


def adds_to_a_list(self, xs):
    seen = []

    def note(i):
        seen.append(i)
        return len(seen)

    def outer(i):
        return note(i) * 10

    return apply(outer, len(xs)), seen


def counts(self, xs):
    n = 0

    def note():
        nonlocal n
        n += 1
        return n

    def outer(i):
        return note() * 10 + i

    return apply(outer, len(xs)), n


@pytest.mark.parametrize("forward", [adds_to_a_list, counts])
def test_what_the_functions_change_that_they_call(forward: Any) -> None:
    agrees(with_forward(Model(), forward), LISTS)


def stale(self, xs):
    k = 2

    @cache
    def g(i):
        return k * i

    before = apply(g, 3)
    k = 5
    return before, g(1)


def stale_list(self, xs):
    seen = [1]

    @cache
    def g(i):
        return len(seen) * i

    before = apply(g, 3)
    seen.append(2)
    return before, g(1), apply(g, 2)


def changes_an_attribute(self, xs):
    self.calls = 0

    @cache
    def g(i):
        return self.note(i)

    return apply(g, 3), apply(g, 3), self.calls


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (stale, "sees `k`, which is changed"),
        (stale_list, "sees `seen`, which is changed"),
        (changes_an_attribute, "which is changed|changes an attribute"),
    ],
)
def test_what_would_be_computed_again_is_refused(forward: Any, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        build(with_forward(Model(), forward), sample=LISTS)
