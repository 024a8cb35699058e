"""Assignments to properties, of objects that the model makes and of modules: Python calls the property's setter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[3, 1, 2], [5], [4, 4, 0, 7], []]


class Bounded:
    """Keeps a number that is at least 2."""

    def __init__(self, value):
        self.value = value

    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, new):
        self._value = max(new, 2)


class Rectangle:
    """Changes a number of its own in each assignment."""

    def __init__(self, width, height):
        self.changes = 0
        self.width, self.height = width, height
        self.area = width * height

    @property
    def width(self):
        return self._width

    @width.setter
    def width(self, new):
        self.note()
        self._width = new

    @property
    def area(self):
        return self._width * self.height

    @area.setter
    def area(self, new):
        self.changes += 10
        self.height = new // max(self._width, 1)

    def note(self):
        self.changes += 1


class Square(Rectangle):
    def __init__(self, width):
        super().__init__(width, width)
        self.width = width + 1


class State:
    def __init__(self, h):
        self.h = h

    @property
    def h(self):
        return self._h

    @h.setter
    def h(self, new):
        self._h = torch.tanh(new)


def bounded(self, xs):
    made = [Bounded(x) for x in xs]
    for one in made:
        one.value += 1
    for one in made:
        one.value = one.value - 2
    return [one.value for one in made]


def under_several_names(self, xs):
    made = [Rectangle(x, 2) for x in xs]
    best = None
    for one in made:
        one.width = one.width + 1
        one.area += 3
        if best is None or one.area > best.area:
            best = one
    if best is not None:
        best.width = 100
    return [(one.width, one.height, one.area, one.changes) for one in made]


def of_a_base(self, xs):
    made = Square(len(xs))
    made.area = 12
    return made.width, made.height, made.changes


def of_tensors(self, xs):
    state = State(torch.zeros(4))
    other = state
    for x in xs:
        state.h = self.lin(state.h) + x
    return other.h, state.h


def of_the_model(self, xs):
    self.state = torch.zeros(4)
    for x in xs:
        self.state = self.lin(self.state) + x
    return self.state


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.lin = nn.Linear(4, 4)

    @property
    def state(self):
        return self._state

    @state.setter
    def state(self, new):
        self._state = torch.tanh(new)


@pytest.mark.parametrize(
    "function", [bounded, under_several_names, of_a_base, of_tensors, of_the_model], ids=lambda f: f.__name__
)
def test_interpreter(function: Any) -> None:
    agrees(with_forward(Model(), function), LISTS)


def test_generated_code(tmp_path: Path) -> None:
    agrees_natively(with_forward(Model(), under_several_names), LISTS, "vm", tmp_path)


class Fixed:
    def __init__(self, x):
        self._x = x

    @property
    def x(self):
        return self._x


def without_setter(self, xs):
    one = Fixed(len(xs))
    one.x = 3  # type: ignore[misc]
    return one.x


def test_a_property_without_a_setter_is_refused() -> None:
    with pytest.raises(CompileError, match="the property `x` is not assigned to here"):
        build(with_forward(Model(), without_setter), sample=LISTS)
