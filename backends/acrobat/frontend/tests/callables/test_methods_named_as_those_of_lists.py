"""Methods of the model's classes that have the names of methods by which lists change, against eager PyTorch."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward


class Bounded:
    def __init__(self, maxlen):
        self.items = []
        self.maxlen = maxlen

    def append(self, item):
        self.items.append(item)
        if len(self.items) > self.maxlen:
            self.items.pop(0)

    def push(self, item):
        self.items.append(item)
        if len(self.items) > self.maxlen:
            self.items.pop(0)

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        return iter(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Holder:
    def __init__(self, c):
        self.keys = c(3)

    def add(self, x):
        self.keys.append(x)

    def addp(self, x):
        self.keys.push(x)


def under_a_name(self, xs):
    b = Bounded(3)
    for x in xs:
        b.append(x)
    return list(b), len(b), list(b), b[-1], sum(b)


def in_an_attribute(self, xs):
    h = Holder(Bounded)
    for x in xs:
        h.add(x)
    return list(h.keys)


def with_a_name_of_its_own(self, xs):
    h = Holder(Bounded)
    for x in xs:
        h.addp(x)
    return list(h.keys)


@pytest.mark.parametrize("function", [under_a_name, in_an_attribute, with_a_name_of_its_own])
def test_they_give_eagers_results(function):
    agrees(with_forward(nn.Identity(), function), [[3, 5, 70, 4, 4], [1], [79, 0], [2]])
