"""Loops over one of two iterables of different kinds, of which one is chosen at run time."""

# mypy: ignore-errors

from __future__ import annotations

import itertools
from itertools import count, pairwise
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2], [2, 2], [7, 7, 1, 0, 3, 3], [0]]


def counter_without_gold(self, xs):
    gold = None if xs[0] > 2 else xs
    stack, n = [], 0
    steps = itertools.count() if gold is None else range(len(gold))
    for t in steps:
        if gold is None and n > 8:
            break
        n += xs[t % len(xs)] if gold is None else gold[t]
        if n % 3 == 0:
            n += 1
            continue
        stack.append(t)
    return n, stack


def counter_with_step(self, xs):
    n = 0
    for t in range(len(xs)) if xs[0] > 2 else count(xs[0], 3):
        if t % 2:
            n += 1
            continue
        n += t
        if t > 9 or n > 4:
            break
    else:
        n = -n
    return n


def counter_left_by_return(self, xs):
    limit = None if xs[0] > 2 else len(xs)
    n = 0
    for t in itertools.count() if limit is None else xs:
        n += t
        if n > 7:
            return n
    return -n


def pairs(self, xs):
    it = enumerate(xs) if len(xs) > 2 else zip(range(10), xs, strict=False)
    n = 0
    for i, x in it:
        n += i * x + xs[0]
    return n


def directions(self, xs):
    order = reversed(xs) if xs[0] > 2 else xs
    n = 0
    for i in order:
        n = n * 2 + i
    for i in range(len(xs)) if xs[0] > 2 else reversed(range(len(xs))):
        n = n * 2 + i
    return n


def entries(self, xs):
    known = {x: x + 1 for x in xs}
    n = 0
    for k, v in known.items() if xs[0] > 2 else zip(xs, xs, strict=True):
        n = n * 2 + k * v
    for k in range(3) if xs[0] > 2 else known:
        n += k
    return n


def rows(self, xs):
    t = torch.tensor([float(x) for x in xs])
    parts = t.unbind(0) if xs[0] > 2 else [t[i] for i in range(len(xs))]
    s = torch.zeros(())
    for r in parts:
        s = s * 2 + r
    return s


@pytest.mark.parametrize(
    "forward",
    [counter_without_gold, counter_with_step, counter_left_by_return, pairs, directions, entries, rows],
    ids=lambda f: f.__name__,
)
def test_as_in_python(forward: Any) -> None:
    agrees(with_forward(nn.Module(), forward), LISTS)


def known_when_compiled(self, xs):
    """Which one is known, so that its elements are: the module that a round picks has a shape of its own."""
    x, layers = torch.tensor([float(xs[0]), 1.0]), self.layers
    for layer in reversed(layers) if self.backwards else layers:
        x = layer(x)
    return x


def test_elements_that_are_known_when_the_model_is_compiled() -> None:
    for backwards, sizes in ((False, (2, 3, 4)), (True, (4, 3, 2))):
        model = with_forward(nn.Module(), known_when_compiled)
        model.backwards = backwards
        ends = list(pairwise(sizes)) if not backwards else [(3, 4), (2, 3)]
        model.layers = nn.ModuleList(nn.Linear(a, b) for a, b in ends)
        agrees(model, LISTS)


def longer_while_walked(self, xs):
    ys = list(xs)
    for _ in ys if xs[0] > 2 else enumerate(ys):
        if len(ys) < 20:
            ys.append(len(ys))
    return ys


def longer_by_another(self, xs):
    ys = list(xs)

    def more():
        if len(ys) < 20:
            ys.append(1)

    n = 0
    for i in ys if xs[0] > 2 else reversed(ys):
        more()
        n += i
    return n


def changed_before(self, xs):
    ys = list(xs)
    order = reversed(ys) if xs[0] > 2 else ys
    ys[0] = 100
    n = 0
    for i in order:
        n = n * 2 + i
    return n


def used_twice(self, xs):
    order = reversed(xs) if xs[0] > 2 else xs
    n = 0
    for i in order:
        n = n * 2 + i
    for i in order:
        n = n * 2 + i
    return n


def used_in_each_round(self, xs):
    order = reversed(xs) if xs[0] > 2 else xs
    n = 0
    for _ in range(2):
        for i in order:
            n = n * 2 + i
    return n


@pytest.mark.parametrize(
    "forward",
    [longer_while_walked, longer_by_another, changed_before, used_twice, used_in_each_round],
    ids=lambda f: f.__name__,
)
def test_a_list_of_all_elements_would_be_wrong(forward: Any) -> None:
    with pytest.raises(CompileError):
        build(with_forward(nn.Module(), forward), sample=LISTS)
