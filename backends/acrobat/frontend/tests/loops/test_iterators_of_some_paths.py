"""Names that are iterators where some arms of an `if` end, and lists where others do."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter

LISTS = [[1, 2, 3], [], [5], [3, 3]]


class Base(nn.Module):
    def twice(self, source):
        return list(source), list(source)

    def once(self, source):
        return [x + 1 for x in source]


class ListedTwice(Base):
    def forward(self, xs):
        if len(xs) > 1:
            source = iter(xs)
        else:
            source = [1, 2]
        return list(source), list(source)


class SummedTwice(Base):
    def forward(self, xs):
        if len(xs) > 1:
            source = (x + 1 for x in xs)
        else:
            source = (1, 2)
        return sum(source), sum(source)


class GivenToFunction(Base):
    def forward(self, xs):
        if len(xs) > 1:
            source = iter(xs)
        else:
            source = [1, 2]
        return self.twice(source)


class OfTwoIterators(Base):
    def forward(self, xs):
        if len(xs) > 1:
            source = reversed(xs)
        else:
            source = iter(xs)
        return self.twice(source)


class UnderOtherName(Base):
    def forward(self, xs):
        if len(xs) > 1:
            source = iter(xs)
        else:
            source = [1, 2]
        other = source
        return list(other), list(other)


@pytest.mark.parametrize("model", [ListedTwice, SummedTwice, GivenToFunction, OfTwoIterators, UnderOtherName])
def test_an_iterator_of_some_paths_is_not_used_twice(model):
    with pytest.raises(CompileError, match=r"iterator"):
        build(model(), sample=LISTS)


class UsedOnce(Base):
    def forward(self, xs):
        if len(xs) > 1:
            source = map(abs, xs)
        else:
            source = xs
        return self.once(source)


class WalkedOnce(Base):
    def forward(self, xs):
        if len(xs) > 1:
            source = iter(xs)
        else:
            source = [1, 2]
        total = 0
        for x in source:
            total += x
        return total


@pytest.mark.parametrize("model", [UsedOnce, WalkedOnce])
def test_an_iterator_of_some_paths_is_used_once(model):
    interpreter = Interpreter(build(model(), sample=LISTS))
    assert [interpreter.run(xs) for xs in LISTS] == [model()(xs) for xs in LISTS]
