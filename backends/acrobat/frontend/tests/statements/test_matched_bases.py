"""A class pattern takes objects of classes that are derived from its class, as in Python."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward


class Node:
    __match_args__ = ("x",)

    def __init__(self, x):
        self.x = x


class Left(Node):
    def __init__(self, x, y):
        super().__init__(x)
        self.y = y


class Right(Node):
    def __init__(self, x, z):
        super().__init__(x)
        self.z = z


class Other:
    def __init__(self, w):
        self.w = w


GIVEN = [[Left(1, 2), Right(3, 4), Other(5)], [Node(1), Right(2, 3)], [Node(4), Other(1), Left(2, 2)]]


def of_the_instance(self, given):
    found = []
    for node in given:
        match node:
            case Right(a, z=b):
                found.append(a + b)
            case Node(a):
                found.append(a * 10)
            case Other(w=c):
                found.append(c * 100)
    return found


def made(self, given):
    found = []
    for i in range(len(given)):
        node = Left(i, 2) if i % 2 else Right(i, 3)
        match node:
            case Node(x=0):
                found.append(-1)
            case Left(a, y=b) | Right(a, z=b):
                found.append(a * b)
    return found


@pytest.mark.parametrize("forward", [of_the_instance, made])
def test_as_in_python(forward):
    agrees(with_forward(nn.Module(), forward), GIVEN)
