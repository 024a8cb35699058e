# mypy: ignore-errors
"""A function that changes a list, called in ways that do not name the list at the call: the list has the change, or the
compiler says at that line what to write. None may be lost."""

from __future__ import annotations

import functools

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_unless_refused


class Steps(nn.Module):
    def step(self, x, seen):
        seen.append(x)
        return x * len(seen)


class Bound(Steps):
    def forward(self, x):
        seen = []
        work = self.step
        return work(work(x, seen), seen), len(seen)


class OfClass(Steps):
    def forward(self, x):
        seen = []
        x = Steps.step(self, x, seen)
        return Steps.step(self, x, seen), len(seen)


class Starred(Steps):
    def forward(self, x):
        seen = []
        x = self.step(*(x, seen))
        return self.step(*(x, seen)), len(seen)


class PartialByName(Steps):
    def forward(self, x):
        seen = []
        work = functools.partial(self.step, seen=seen)
        return work(work(x)), len(seen)


class PartialByPlace(Steps):
    def forward(self, x):
        seen = []
        work = functools.partial(self.step, x)
        return work(seen) + work(seen), len(seen)


class Lambda(Steps):
    def forward(self, x):
        seen = []
        work = lambda y: self.step(y, seen)  # noqa: E731
        return work(work(x)), len(seen)


class Mapped(Steps):
    def forward(self, x):
        seen = []
        found = list(map(lambda y: self.step(y, seen), [x, x]))  # noqa: C417
        return found, len(seen)


class Default(Steps):
    def forward(self, x):
        seen = []

        def work(y, to=seen):
            to.append(y)
            return y * len(to)

        return work(work(x)), len(seen)


class Method(Steps):
    def forward(self, x):
        seen = []
        add = seen.append
        add(x)
        add(x)
        return x, len(seen)


class Entry(Steps):
    def forward(self, x):
        seen = []
        held = {"seen": seen}
        held["seen"].append(x)
        return x, len(seen)


COMPILED = [Bound, OfClass, PartialByPlace, Method]
REFUSED = {
    Starred: "changes what `seen` is given here",
    PartialByName: "changes what `seen` is given here",
    Lambda: "a lambda changes `seen`",
    Mapped: "a lambda changes `seen`",
    Default: "changes what `to` is given here",
    Entry: "changes a part of `held` that may be seen elsewhere",
}


def vectors():
    torch.manual_seed(0)
    return [torch.randn(3) for _ in range(3)]


@pytest.mark.parametrize("model", COMPILED, ids=lambda m: m.__name__)
def test_has_the_change(model):
    agrees(model(), vectors())


@pytest.mark.parametrize(("model", "told"), REFUSED.items(), ids=lambda x: getattr(x, "__name__", ""))
def test_says_what_to_write(model, told):
    agrees_unless_refused(model(), vectors(), told)


def test_a_parameter_of_a_lambda_has_its_own_name():
    class Shadow(nn.Module):
        def forward(self, x):
            seen, other = [], [x]
            count = (lambda seen: len(seen))(other)
            seen.append(x)
            return count, len(seen)

    agrees(Shadow(), vectors())
