"""What is left of an iterator after `next`, `tee`, iterators or None with a default, `while` with `:=` and `else`, and how many
of a list are chosen at run time."""

# mypy: ignore-errors
# ruff: noqa: B905, RUF007
from __future__ import annotations

import itertools
from itertools import tee
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[3, 1, 2], [5], [7, 8, 9, 10]]


def pairs(self, xs):
    a, b = itertools.tee(xs)
    next(b, None)
    return [y - x for x, y in zip(a, b)]


def pairs_in_a_loop(self, xs):
    a, b = tee(x + 1 for x in xs)
    next(b, None)
    total = 0
    for x, y in zip(a, b):
        total += x * y
    return total


def three_of_them(self, xs):
    a, b, c = tee(map(abs, xs), 3)
    return list(a), sum(b), max(c)


def head_and_rest(self, xs):
    it = iter(xs)
    first = next(it)
    out = []
    for x in it:
        out.append(x - first)
    return first, out


def rest_on_each_path(self, xs):
    it = iter(xs)
    first = next(it)
    if first > 4:
        return first, list(it)
    return sum(x * 2 for x in it), []


def in_rounds(self, xs):
    out = []
    for k in range(2):
        it = iter(xs)
        next(it)
        out.append((k, list(it)))
    return out


def or_none(self, xs):
    gold = iter(xs) if len(xs) > 2 else None
    out = [x if gold is None else next(gold, -1) for x in xs]
    if gold is not None:
        out.append(next(gold, 0))
        out.append(next(gold, 99))
    return out


def ended_by_the_test(self, xs):
    i, out = 0, []

    def at(k):
        return xs[k] if k < len(xs) else None

    while (x := at(i)) is not None:
        i += 1
        if x > 8:
            break
        out.append(x)
    else:
        out.append(-1)
    return out


def without_break(self, xs):
    i, out = 0, []
    while (n := len(xs) - i) > 0:
        i += 1
        if n == 2:
            continue
        out.append(n)
    else:
        out.append(n - 5)
    return out


def as_many_as_there_are(self, xs):
    r = len(xs) - 1
    return (
        list(itertools.permutations(xs)),
        list(itertools.combinations(xs, r)),
        list(itertools.permutations(xs, r)),
        list(itertools.combinations_with_replacement(xs, r)),
        [sum(c) for c in itertools.combinations(xs, 1)],
    )


def subsets(self, xs):
    return list(itertools.chain.from_iterable(itertools.combinations(xs, r) for r in range(len(xs) + 1)))


def joined_lists_of_tuples(self, xs):
    return list(itertools.chain(*[zip(xs, xs[1:]) for _ in range(2)])), sum(len(c) for c in itertools.combinations(xs, 4))


def best_order(self, xs):
    def cost(p):
        return sum(abs(xs[p[i]] - xs[p[i + 1]]) for i in range(len(p) - 1))

    return min(itertools.permutations(range(len(xs))), key=cost)


def asked_whether_it_is_there(self, xs):
    pairs = zip(xs, xs[1:])
    found = [x for x in range(9) if x in (y + 1 for y in xs) or (x, x + 1) in itertools.pairwise(xs)]
    return (1, 2) in pairs, (xs[0], 1) not in enumerate(xs), found, 3 in reversed(xs), len(xs) in map(len, [xs, xs[1:]])


FORWARDS = [
    pairs,
    pairs_in_a_loop,
    three_of_them,
    head_and_rest,
    rest_on_each_path,
    in_rounds,
    or_none,
    ended_by_the_test,
    without_break,
    as_many_as_there_are,
    subsets,
    joined_lists_of_tuples,
    asked_whether_it_is_there,
    best_order,
]


@pytest.mark.parametrize("forward", FORWARDS, ids=lambda f: f.__name__)
def test_as_in_python(forward: Any) -> None:
    agrees(with_forward(nn.Module(), forward), LISTS)


def test_natively(codegen: str, tmp_path: Path) -> None:
    def forward(self, xs):
        return pairs(self, xs), head_and_rest(self, xs), as_many_as_there_are(self, xs), ended_by_the_test(self, xs)

    agrees_natively(with_forward(nn.Module(), forward), LISTS, codegen, tmp_path)


def read_again(self, xs):
    it = iter(xs)
    first = next(it)
    rest = list(it)
    return first, rest, next(it, 0)


def in_each_round(self, xs):
    it = iter(xs)
    first = next(it)
    return first, [x for _ in range(2) for x in it]


def twice(self, xs):
    it = iter(xs)
    next(it)
    return list(zip(it, it))


def asked_for_what_comes_next(self, xs):
    it = iter(xs)
    return [x in it for x in (1, 2)], list(it)


def under_another_name(self, xs):
    it = iter(xs)
    other = it
    next(it)
    return list(other)


def together(self, xs):
    both = tee(xs)
    return list(both[0]), list(both[0])


@pytest.mark.parametrize("forward", [read_again, in_each_round, twice, under_another_name, together], ids=lambda f: f.__name__)
def test_what_would_be_used_again_is_refused(forward: Any) -> None:
    with pytest.raises(CompileError, match="iterator"):
        build(with_forward(nn.Module(), forward), sample=LISTS)


def default_of_none(self, xs):
    gold = iter(xs) if len(xs) > 2 else None
    return next(gold, 5)


def test_the_next_of_none_is_an_error_of_the_instance() -> None:
    interpreter = Interpreter(build(with_forward(nn.Module(), default_of_none), sample=LISTS))
    assert interpreter.run([3, 1, 2]) == 3
    with pytest.raises(InstanceError):
        interpreter.run([5])


def fewer_than_none(self, xs):
    return list(itertools.combinations(xs, xs[0] - 4))


def test_a_negative_number_is_an_error_of_the_instance() -> None:
    interpreter = Interpreter(build(with_forward(nn.Module(), fewer_than_none), sample=[[5, 1], [6]]))
    assert interpreter.run([6, 7]) == [(6, 7)]
    with pytest.raises(InstanceError, match="non-negative"):
        interpreter.run([3, 1])
