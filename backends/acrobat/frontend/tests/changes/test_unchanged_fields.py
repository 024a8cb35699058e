"""Objects that hold what something else refers to, too, in attributes through which nothing is changed: their other attributes
change. Where the program changes something through such an attribute, or what it holds under another name, that is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, agrees_unless_refused, with_forward

LISTS = [[], [3], [1, 2, 3], [5, 1, 4, 1], [6, 2, 2, 3, 3, 3, 7, 1]]


class State:
    """As of a parser: the words of the instance, and what was made of them."""

    def __init__(self, words):
        self.words = words
        self.out = []

    def push(self, x):
        self.out.append(x)

    def get(self):
        return self.words


class Growing(State):
    def grow(self):
        self.words.append(77)


class Logged:
    def __init__(self, inner):
        self.inner = inner
        self.log = []

    def note(self, x):
        self.log.append(x)


@dataclass
class Data:
    words: list
    out: list = field(default_factory=list)


def of_the_instance(self, xs):
    state = State(xs)
    for i in range(len(state.words)):
        words = state.words
        state.push(words[i] + len(state.out))
    return state.out, state.words


def of_two_objects(self, xs):
    ys = list(xs)
    a, b = State(ys), State(ys)
    a.push(1)
    b.push(2)
    return a.words, b.words, a.out, b.out


def in_a_list(self, xs):
    rows = [State(xs), State(xs)]
    for i, x in enumerate(xs):
        rows[i % 2].push(x)
    return [row.out for row in rows]


def in_another_object(self, xs):
    logged = Logged(State(xs))
    logged.note(1)
    logged.inner.push(2)
    return logged.inner.out, logged.log


def of_a_dataclass(self, xs):
    data = Data(xs)
    data.out.append(len(data.words))
    return data.words, data.out


FUNCTIONS = [of_the_instance, of_two_objects, in_a_list, in_another_object, of_a_dataclass]


def of(function: Any) -> nn.Module:
    return with_forward(nn.Module(), function)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_interpreter(function: Any) -> None:
    agrees(of(function), LISTS)


def everything(self, xs):
    return of_the_instance(self, xs), in_a_list(self, xs), in_another_object(self, xs)


def test_generated_code(codegen: Any, tmp_path: Path) -> None:
    agrees_natively(of(everything), LISTS, codegen, tmp_path)


def changed_outside(self, xs):
    ys = list(xs)
    state = State(ys)
    state.push(1)
    ys.append(5)
    return state.words, state.out


def changed_inside(self, xs):
    ys = list(xs)
    state = Growing(ys)
    state.push(1)
    state.grow()
    return ys, state.words


def changed_in_the_other(self, xs):
    ys = list(xs)
    a, b = Growing(ys), Growing(ys)
    b.grow()
    return a.words, b.words


def made(xs):
    return State(xs)


def made_elsewhere(self, xs):
    ys = list(xs)
    state = made(ys)
    ys.append(3)
    return state.words


def put_later(self, xs):
    ys = list(xs)
    state = State([])
    state.words = ys
    state.push(1)
    ys.append(4)
    return state.words, state.out


def read(self, xs):
    state = State(list(xs))
    ys = state.words
    state.push(1)
    ys.append(2)
    return state.words, state.out


def read_what_is_changed(self, xs):
    state = State(xs)
    out = state.out
    state.push(1)
    return out, state.out


def one_object_twice(self, xs):
    state = State(xs)
    a, b = Logged(state), Logged(state)
    a.inner.push(1)
    return b.inner.out


def written_out_with_its_data(self, xs):
    ys = list(xs)
    data = Data(ys)
    data.words.append(1)
    return data.words, ys


REFUSED = [
    changed_outside,
    changed_inside,
    changed_in_the_other,
    made_elsewhere,
    put_later,
    read,
    read_what_is_changed,
    one_object_twice,
    written_out_with_its_data,
]


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused(function: Any) -> None:
    agrees_unless_refused(of(function), LISTS, "may be seen")
