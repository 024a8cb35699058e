# mypy: ignore-errors
"""Decorators of the model's own: what they have made when the file was imported is compiled. Those of libraries are refused."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees


def residual(function):
    @wraps(function)
    def wrapper(self, x, *args, **kwargs):
        return x + function(self, x, *args, **kwargs)

    return wrapper


def scaled(by):
    def decorate(function):
        def inner(*args, **kwargs):
            return function(*args, **kwargs) * by

        return inner

    return decorate


def register(registry, *names):
    def decorate(function):
        for name in names:
            registry[name] = function
        return function

    return decorate


def ignored(function):
    return lambda self, x: x


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)


class Wrapped(Base):
    @residual
    def attend(self, x, heat=2.0):
        return torch.softmax(self.a(x) @ self.b(x).mT / heat, -1) @ x

    @residual
    @scaled(3.0)
    def feed(self, x):
        return torch.relu(self.a(x))

    @staticmethod
    @scaled(2)
    def twice(n):
        return n

    @torch.no_grad()
    @scaled(2)
    def outside(self, n):
        return n * 3

    @scaled(2)
    @torch.no_grad()
    def inside(self, n):
        return n * 5

    @property
    @scaled(3)
    def row(self):
        return self.a.weight[0]

    @ignored
    def left_out(self, x):
        return nothing_of_this_name  # noqa: F821

    def forward(self, x):
        h, recipe = x
        for letter in recipe:
            if letter == "a":
                h = self.attend(h)
            elif letter == "s":
                h = self.attend(h, heat=0.5)
            else:
                h = self.feed(h)
        n = len(recipe)
        return self.left_out(h), self.twice(n) + self.outside(n) + self.inside(n), self.row


def down(registry, n):
    return 0 if n == 0 else n + registry["again"](registry, n - 1)


TABLE: dict[str, Callable[..., Any]] = {"again": scaled(2)(down)}


class Registered(Base):
    HANDLERS: ClassVar[dict[str, Callable[..., Any]]] = {}

    @register(HANDLERS, "scale")
    def by(self, h, k):
        return h * k

    @register(HANDLERS, "sum", "mean")
    def pool(self, h, _):
        return h.sum(0, keepdim=True) + self.a.weight[:1]

    def forward(self, program):
        h = self.b.weight
        for name, argument in program:
            h = self.HANDLERS[name](self, h, argument)
        return h, down(TABLE, len(program))


ROWS = [(torch.arange(4.0 * n).view(n, 4) / 10, letters) for n, letters in ((1, "af"), (3, ""), (5, "faafs"))]
PROGRAMS = [[("scale", 2.0)], [("scale", 0.5), ("sum", None)], [("mean", None), ("scale", 3.0), ("sum", None)]]


@pytest.mark.parametrize(("model", "sample"), [(Wrapped, ROWS), (Registered, PROGRAMS)], ids=["wrapped", "registered"])
def test_what_a_decorator_has_made_is_compiled(model: type[Base], sample: list[Any]) -> None:
    agrees(model(), sample)


class OfALibrary(nn.Module):
    @contextlib.contextmanager
    def number(self):
        yield 1

    @functools.cache  # noqa: B019
    def cached(self, *n):
        return n[0]

    def forward(self, n):
        return self.number() if self.managed else self.cached(n)


@pytest.mark.parametrize(
    ("managed", "message"), [(True, "`number` is decorated with"), (False, "`cached` is decorated with `functools.cache`")]
)
def test_decorators_of_libraries_are_refused_where_they_are_used(managed: bool, message: str) -> None:
    model = OfALibrary()
    model.managed = managed
    with pytest.raises(CompileError, match=message) as error:
        build(model, sample=[1, 2])
    assert {p.span.file for p in error.value.problems} == {__file__}


class Nameless(nn.Module):
    @scaled(2)
    def forward(self, n):
        return n


def test_a_wrapper_of_forward_names_the_instance() -> None:
    with pytest.raises(CompileError, match="name the instance among its parameters, before `\\*args`"):
        build(Nameless(), sample=[1, 2])
