"""Classes without `__init__`, and classes that say themselves how their objects are made."""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3, 1, 2], [5], [4, 4, 0, 7], []]
T = TypeVar("T")


class Scorer(Protocol):
    def score(self, x: int) -> float: ...


class Off:
    weight = 2

    def score(self, x: int) -> float:
        return x - 1.0


class Weighted(Off):
    weight = 3

    def score(self, x: int) -> float:
        return super().score(x) * self.weight


class Declared(Scorer):
    def score(self, x: int) -> float:
        return x + 0.5


class Bag(Generic[T]):
    def put(self, x: T) -> None:
        self.kept = x


def scores(self, xs):
    first, second = Off(), Weighted()
    best = max([first, second], key=lambda s: s.score(len(xs)))
    bag: Bag[int] = Bag()
    bag.put(len(xs))
    return first.score(1), second.score(2), best.weight, Declared().score(len(xs)), bag.kept


class OneOnly:
    made = None

    def __new__(cls, *args):
        if cls.made is None:
            cls.made = super().__new__(cls)
        return cls.made

    def __init__(self, x):
        self.x = x


class Guarded:
    def __init__(self, x):
        self.x = x

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value + 1)


def makes_one_only(self, xs):
    return [one.x for one in [OneOnly(x) for x in xs]]


def sets_guarded(self, xs):
    return [Guarded(x).x for x in xs]


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)


def test_classes_without_an_init() -> None:
    agrees(with_forward(Model(), scores), LISTS)


@pytest.mark.parametrize(("function", "name"), [(makes_one_only, "__new__"), (sets_guarded, "__setattr__")])
def test_other_ways_of_making_objects_are_refused(function: Any, name: str) -> None:
    with pytest.raises(CompileError, match=f"has a `{name}`, which is not compiled"):
        build(with_forward(Model(), function), sample=LISTS)
    with torch.no_grad():
        with_forward(Model(), function)([1, 2])  # eager PyTorch takes it
