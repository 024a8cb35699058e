"""Functions that are given an empty list in one place, and a list, a tuple or a tensor in another; and functions that always
give None for arguments of some types, as one that looks for the best of a list does for an empty one."""

# mypy: ignore-errors
# ruff: noqa: B905

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2, 6, 7, 8], [], [2, 2]]


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(10, 4)


class BesideATuple(Base):
    def best(self, h, states):
        found = None
        for i, s in enumerate(states):
            score = (s * h).sum()
            if found is None or score > found[1]:
                found = (i, score)
        return found

    def forward(self, xs):
        h = self.emb.weight[0]
        if len(xs) == 0:
            return {"best": self.best(h, []), "rows": []}
        states, words = zip(*[(self.emb.weight[x], x) for x in xs])
        return {"best": self.best(h, states), "rows": [(x, y) for x, y in zip(states, words)]}


class BesideATensor(Base):
    def total(self, rows):
        t = torch.zeros(4)
        for row in rows:
            t = t + row
        return t, len(rows)

    def forward(self, xs):
        if len(xs) < 2:
            return self.total([])
        return self.total(self.emb(torch.tensor(xs)))


class BesideBoth(Base):
    """The empty list takes the type of the lists, not that of the tuples."""

    def with_one_more(self, xs, x):
        return [*xs, x], xs

    def forward(self, xs):
        a, _ = self.with_one_more([], 3)
        b, before = self.with_one_more(tuple(a), 4)
        c, _ = self.with_one_more(a, 5) if xs else self.with_one_more([], 6)
        return a, b, before, c


class Taken(Base):
    def pick(self, h, states, k):
        if k < 0:
            return h
        return states[k]

    def forward(self, xs):
        h = self.emb.weight[1]
        if len(xs) < 2:
            return self.pick(h, [], sum(xs) - 5)
        return self.pick(h, tuple(self.emb.weight[x] for x in xs), len(xs) - 3)


class ChangesAnother(Base):
    """It gives None, and another list back that it has changed."""

    def best(self, log, states):
        log.append(len(states))
        found = None
        for s in states:
            if found is None or s.sum() > found:
                found = s.sum()
        return found

    def forward(self, xs):
        log = []
        first = self.best(log, [])
        second = self.best(log, [self.emb.weight[x] for x in xs])
        return first, second, log


class AskedForNone(Base):
    def find(self, pairs, k):
        for word, h in pairs:
            if word == k:
                return h
        return None

    def forward(self, xs):
        found = self.find([], 3)
        if found is None:
            found = self.find([(x, self.emb.weight[x]) for x in xs], 3)
        return torch.zeros(4) if found is None else found


class Recursive(Base):
    def walk(self, xs):
        if not xs:
            return None
        return self.walk(xs[1:])

    def forward(self, xs):
        return self.walk(xs), len(xs)


MODELS = [BesideATuple, BesideATensor, BesideBoth, Taken, ChangesAnother, AskedForNone, Recursive]


@pytest.mark.parametrize("model", MODELS)
def test_as_in_python(model):
    agrees(model(), LISTS)


@pytest.mark.parametrize("model", [BesideATuple, ChangesAnother])
def test_natively(model, codegen: str, tmp_path: Path):
    agrees_natively(model(), LISTS, codegen, tmp_path)


class Needs(Base):
    def first(self, xs, k):
        if k > 3:
            raise ValueError("too many")
        for x in xs:
            return x
        return None

    def forward(self, xs):
        return self.first([], len(xs)), self.first(xs, 1)


def test_what_gives_none_may_raise():
    program = agrees(Needs(), [xs for xs in LISTS if len(xs) < 4])
    with pytest.raises(InstanceError, match="too many"):
        Interpreter(program).run([1, 2, 3, 4])


class OnlyNone(Base):
    def forward(self, xs):
        found = None
        for x in xs:
            found = None if x else found
        return found


def test_a_forward_that_gives_nothing_else_is_refused():
    with pytest.raises(CompileError, match="always gives None"):
        build(OnlyNone().eval(), sample=LISTS)
