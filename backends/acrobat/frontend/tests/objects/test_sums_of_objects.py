"""`sum` of objects whose `__add__` and `__radd__` give values of other types."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward

GIVEN = [[1, 2], [2], [3, 3, 1], [2, 2, 3, 2]]


class Weight:
    def __init__(self, x):
        self.x = x

    def __radd__(self, other):
        return other + self.x


class Both:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return self.x + (other.x if isinstance(other, Both) else other)

    def __radd__(self, other):
        return self.x + other


def ints(self, xs):
    return sum(Weight(x) for x in xs)


def tensors(self, xs):
    return sum([Weight(torch.ones(2) * x) for x in xs])


def from_a_start(self, xs):
    return sum([Both(x) for x in xs], len(xs))


def of_several_types(self, xs):
    found = tuple(torch.ones(2) * x for x in xs)
    if len(xs) > 3:
        found = (1, 2, 3)
    return sum(found)


@pytest.mark.parametrize("forward", [ints, tensors, from_a_start, of_several_types])
def test_as_in_python(forward):
    agrees(with_forward(nn.Module(), forward), GIVEN)


def floats_from_an_int(self, xs):
    return sum([Weight(x * 0.5) for x in xs], 1)


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (floats_from_an_int, "a float where an int is needed"),
    ],
)
def test_is_refused(forward, message):
    with pytest.raises(CompileError, match=message):
        build(with_forward(nn.Module(), forward), sample=GIVEN)
