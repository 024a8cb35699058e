"""Variables that have an empty tuple on one path, and a list, a set or a dictionary on another."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees

LISTS = [[1, 2, 3], [4], [2, 2, 0, 1], [5, 5, 1]]


def allowed(x, banned=()):
    return x not in banned


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(10, 4)

    def kept(self, xs, banned=()):
        for x in xs:
            if banned and x in banned:
                continue
            yield x

    def told(self, xs, banned=()):
        return len(xs), banned


class ASet(Base):
    def forward(self, xs):
        banned = ()
        if len(xs) > 2:
            banned = {x for x in xs if x > 1}
        return [x for x in [0, 1, 2, 3, 4] if x not in banned], len(banned)


class AList(Base):
    def forward(self, xs):
        if len(xs) > 2:
            more = [x + 1 for x in xs]
        else:
            more = ()
        t = torch.zeros(4)
        for m in more:
            t = t + self.emb.weight[m]
        return t, 3 if more else 4


class ADict(Base):
    def forward(self, xs):
        names = ()
        if len(xs) > 2:
            names = {x: x * 2 for x in xs}
        total = 0
        for n in names:
            total += n
        return total, 2 in names, not names


class InALoop(Base):
    def forward(self, xs):
        banned, out = (), []
        for x in xs:
            if x in banned:
                out.append(-1)
            else:
                out.append(x)
            banned = {x, x + 1}
        return out


class GivenToAMethod(Base):
    def forward(self, xs):
        banned = ()
        if len(xs) > 2:
            banned = {xs[0]}
        return list(self.kept(xs, banned)), list(self.kept(xs, banned=banned)), list(self.kept(xs))


class Keys(Base):
    def forward(self, xs):
        d = dict.fromkeys(xs, 1)
        banned = ()
        if len(xs) > 2:
            banned = d.keys()
        return [x for x in range(5) if x not in banned]


class NeverFilled(Base):
    def forward(self, xs):
        banned = ()
        if len(xs) > 2:
            banned = set()
        return [x for x in range(5) if x not in banned]


class InNestedLoops(Base):
    def forward(self, xs):
        out = []
        for x in xs:
            banned = ()
            for y in xs:
                if y in banned or x > y and len(banned) > 1:
                    continue
                out.append(x + y)
                if y > 1:
                    banned = {y, x}
            out.append(len(banned))
        return out


class LeftEarly(Base):
    def forward(self, xs):
        i, banned = 0, ()
        while i < len(xs):
            if (i, xs[i]) in banned:
                break
            if xs[i] == 2:
                banned = {(j, x) for j, x in enumerate(xs)}
            i += 1
        return i, bool(banned)


class GivenToAFunction(Base):
    def forward(self, xs):
        banned = ()
        if len(xs) > 2:
            banned = [xs[0]]
        return [x for x in range(5) if allowed(x, banned) and allowed(x)]


MODELS = [ASet, AList, ADict, InALoop, GivenToAMethod, Keys, NeverFilled, GivenToAFunction, InNestedLoops, LeftEarly]


@pytest.mark.parametrize("model", MODELS)
def test_as_in_python(model):
    agrees(model(), LISTS)


class Compared(Base):
    def forward(self, xs):
        banned = ()
        if len(xs) > 2:
            banned = {xs[0]}
        return sorted(banned), banned == ()


class WithAnd(Base):
    def forward(self, xs):
        banned = ()
        if len(xs) > 2:
            banned = [xs[0]]
        y = banned and xs
        return y, len(banned)


class Joined(Base):
    def forward(self, xs):
        banned = ()
        if len(xs) > 2:
            banned = {xs[0]}
        if len(xs) < 2:
            banned |= {1}
        return 1 in banned


class AskedForItsClass(Base):
    def forward(self, xs):
        banned = ()
        if len(xs) > 2:
            banned = {xs[0]}
        return isinstance(banned, tuple), 1 in banned


class UnderAnotherName(Base):
    def forward(self, xs):
        banned = ()
        if len(xs) > 2:
            banned = {xs[0]}
        other = banned
        return f"{other}", 1 in banned


class GivenToWhatTells(Base):
    def forward(self, xs):
        banned = ()
        if len(xs) > 2:
            banned = {xs[0]}
        size, same = self.told(xs, banned)
        return size, 1 in same


class GivenToAnyOf(Base):
    """The call is one of another function than where the paths meet."""

    def forward(self, xs):
        check, banned = self.kept, ()
        if len(xs) > 2:
            banned = {xs[0]}
        check = self.told
        return check(xs, banned)[0]


REFUSED = [Compared, Joined, AskedForItsClass, UnderAnotherName, GivenToWhatTells, GivenToAnyOf]


@pytest.mark.parametrize("model", REFUSED)
def test_refused_where_uses_may_tell_them_apart(model):
    with pytest.raises(CompileError, match="`banned` differs in type between paths"):
        build(model(), sample=LISTS)


def test_where_both_stay_what_they_are():
    """`and` gives the empty tuple itself, so that the program keeps it beside the list."""
    agrees(WithAnd(), LISTS)
