"""Functions with `yield` that change something, and loops over what they give: Python runs both by turns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively

# mypy: ignore-errors

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2, 6, 7, 8], [2, 2]]


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(10, 4)
        self.count = 0

    def counted(self, xs):
        for x in xs:
            self.count += 1
            yield x * self.count

    def size(self):
        return self.count


class Counts(Base):
    def forward(self, xs):
        self.count = 0
        total = 0
        for y in self.counted(xs):
            if y % 2:
                continue
            total += y
        return total, self.count


class InRecursion(Base):
    def levels(self, n, depth):
        self.count += 1
        yield self.count
        if depth:
            yield from self.levels(n + 1, depth - 1)
            yield from self.levels(n + 2, depth - 1)

    def forward(self, xs):
        self.count = 0
        out = []
        for y in self.levels(xs[0], min(len(xs), 3)):
            out.append(y + 1)
        return out, self.count, list(self.levels(2, 1))


class GivenAList(Base):
    def fresh(self, xs, seen):
        for x in xs:
            if x not in seen:
                seen.append(x)
                yield x

    def forward(self, xs):
        seen = [3]
        total = torch.zeros(4)
        for x in self.fresh(xs, seen):
            total = total + self.emb.weight[x]
        return total, seen


class GivenADictionary(Base):
    def closure(self, x, memo, depth):
        if x in memo:
            return
        memo[x] = depth
        yield x
        yield from self.closure(x * 2 % 7, memo, depth + 1)

    def forward(self, xs):
        memo, out = {}, []
        for x in xs:
            for y in self.closure(x, memo, 0):
                out.append(y * 2)
        return out, memo


class GivesOn(Base):
    """The loop in it does not use the counter, what follows the loop does."""

    def doubled(self, xs):
        for x in self.counted(xs):
            yield x * 2
        yield self.count

    def forward(self, xs):
        self.count = 0
        out = []
        for y in self.doubled(xs):
            out.append(-y)
        return out, self.count


class Nested(Base):
    def forward(self, xs):
        n, seen = 0, []

        def numbered():
            nonlocal n
            for x in xs:
                n += 1
                seen.append(x)
                yield x + n

        out = []
        for y in numbered():
            out.append(y + 1)
        return out, n, seen, list(numbered()), n


class OfTensors(Base):
    def states(self, xs):
        for x in xs:
            self.h = torch.tanh(self.h + self.emb.weight[x])
            yield self.h.sum()

    def forward(self, xs):
        self.h = torch.zeros(4)
        total = torch.zeros(())
        for score in self.states(xs):
            total = total + score
        return total, self.h


@pytest.mark.parametrize("model", [Counts, InRecursion, GivenAList, GivenADictionary, GivesOn, Nested, OfTensors])
def test_as_in_python(model: Any) -> None:
    agrees(model(), LISTS)


@pytest.mark.parametrize("model", [InRecursion, OfTensors])
def test_natively(model: Any, codegen: str, tmp_path: Path) -> None:
    agrees_natively(model(), LISTS, codegen, tmp_path)


class Reads(Base):
    def forward(self, xs):
        self.count = 0
        return_ = 0
        for y in self.counted(xs):
            return_ += y * self.count
        return return_


class ReadsByAFunction(Base):
    def forward(self, xs):
        self.count = 0
        out = []
        for y in self.counted(xs):
            out.append(y + self.size())
        return out


class Changes(Base):
    def forward(self, xs):
        self.count = 0
        out = []
        for y in self.counted(xs):
            self.count += y
            out.append(y)
        return out


class ChangesWhatItReads(Base):
    def moved(self, xs):
        for x in xs:
            yield x + self.count

    def forward(self, xs):
        self.count = 0
        out = []
        for y in self.moved(xs):
            self.count += 1
            out.append(y)
        return out


class Item:
    def __init__(self, x):
        self.x = x


class ReadsAnObject(Base):
    def moved(self, items):
        for item in items:
            item.x += 1
            yield item.x

    def forward(self, xs):
        items = [Item(x) for x in xs]
        last = items[-1]
        out = []
        for y in self.moved(items):
            out.append(y + last.x)
        return out


class ByTurns(Base):
    """Between two values of the one function the other one counts."""

    def each(self, xs):
        for x in self.counted(xs):
            yield from self.counted([x])

    def forward(self, xs):
        self.count = 0
        return list(self.each(xs))


@pytest.mark.parametrize("model", [Reads, ReadsByAFunction, Changes, ChangesWhatItReads, ReadsAnObject, ByTurns])
def test_both_use_the_same(model: Any) -> None:
    agrees(model(), LISTS)


class ReadsInARecursion(InRecursion):
    def forward(self, xs):
        self.count = 0
        out = []
        for y in self.levels(xs[0], min(len(xs), 3)):
            out.append(y + self.count)
        return out


def test_both_use_the_same_in_a_recursion() -> None:
    with pytest.raises(CompileError, match="run by turns, and both use"):
        build(ReadsInARecursion().eval(), sample=LISTS)


class LeftEarly(Base):
    def forward(self, xs):
        self.count = 0
        total = 0
        for y in self.counted(xs):
            if y > 4:
                break
            total += y
        return total, self.count


class LeavesARecursion(InRecursion):
    def forward(self, xs):
        self.count = 0
        for y in self.levels(xs[0], min(len(xs), 3)):
            if y > 4:
                break
        return self.count


def test_a_loop_that_is_left_early() -> None:
    agrees(LeftEarly(), LISTS)
    with pytest.raises(CompileError, match="the generator `levels` changes the attribute `count` while it is walked over"):
        build(LeavesARecursion().eval(), sample=LISTS)
