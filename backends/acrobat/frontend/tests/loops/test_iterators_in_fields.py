"""Iterators that objects and dictionaries keep: in fields of dataclasses, entries with names, and attributes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_idioms import LISTS, compare, module


@dataclasses.dataclass
class KeptWords:
    words: Any
    taken: int = 0

    def take(self):
        self.taken += 1
        return next(self.words, -1)


class WordReader:
    def __init__(self, words):
        self.words = iter(words)
        self.log = []

    def take(self):
        return next(self.words, -1)

    def until(self, stop):
        for word in self.words:
            if word == stop:
                break
            self.log.append(word)


class WordRows:
    def __init__(self, words):
        self.row = list(words)

    def reader(self):
        return WordReader(self.row)


def _reader(words):
    return WordReader(words)


def _kept(words):
    return KeptWords(iter(words))


def _two(state):
    return state.take(), next(state.words, 100)


def _step(state):
    state["taken"] += 1
    return next(state["words"], -1)


def of_dataclass(xs):
    state, other = KeptWords(iter(xs)), KeptWords(taken=2, words=iter(xs[::-1]))
    first = _two(state)
    return first, _two(state), other.take(), state.taken, other.taken


def of_pairs(xs):
    state = KeptWords(enumerate(xs))
    i, x = next(state.words)
    return i, x, next(state.words, None)


def of_dictionary(xs):
    state = {"words": iter(xs), "taken": 0}
    first = _step(state)
    while (x := next(state["words"], None)) is not None:
        state["taken"] += x
    return first, _step(state), state["taken"]


def walked_in_part(xs):
    reader = WordReader(xs)
    reader.until(1)
    reader.until(2)
    state = _kept(xs)
    total = 0
    for x in state.words:
        if x > 4:
            break
        total += x
    return reader.log, total, state.take()


COMPILED = [of_dataclass, of_pairs, of_dictionary, walked_in_part]


@pytest.mark.parametrize("function", COMPILED, ids=lambda f: f.__name__)
def test_as_in_python(function: Callable[[Any], Any]) -> None:
    build(module(function), sample=[list(xs) for xs in LISTS])
    compare(function, LISTS)


def list_gets_longer(xs):
    ys = list(xs)
    reader = WordReader(ys)
    ys.append(7)
    return [reader.take() for _ in range(3)]


def list_of_a_field_gets_longer(xs):
    ys = list(xs)
    state = KeptWords(iter(ys))
    ys.append(7)
    return [state.take() for _ in range(3)]


def list_of_a_helper_gets_longer(xs):
    ys = list(xs)
    reader = _reader(ys)
    ys.append(7)
    return [reader.take() for _ in range(3)]


def list_of_an_item_changes(xs):
    rows = [list(xs), [1]]
    reader = WordReader(rows[0])
    rows[0].append(5)
    return [reader.take() for _ in range(3)]


def list_of_an_attribute_changes(xs):
    rows = WordRows(xs)
    reader = rows.reader()
    rows.row.append(4)
    return [reader.take() for _ in range(3)]


def number_changes(xs):
    k = 1
    state = KeptWords(x * k for x in xs)
    first = state.take()
    k = 5
    return first, state.take(), k


REFUSED = [list_gets_longer, list_of_a_field_gets_longer, list_of_a_helper_gets_longer, list_of_an_item_changes]
REFUSED += [list_of_an_attribute_changes, number_changes]


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(CompileError):
        build(module(function), sample=[list(xs) for xs in LISTS])
