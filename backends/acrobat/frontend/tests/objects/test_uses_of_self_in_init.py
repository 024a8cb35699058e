"""Objects that their own `__init__` uses as a whole: methods in loops and in expressions, and the object given to others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, agrees_unless_refused, with_forward

LISTS = [[3, 1, 2], [5], [4, 4, 0, 7], []]


class Reader:
    """Groups numbers until a 0, by methods that are called in loops and in conditions."""

    def __init__(self, numbers):
        self.numbers = numbers
        self.at = 0
        self.groups: list[Any] = [[]]
        self.total = 0
        while self.more():
            value = self.take()
            if value == 0:
                self.groups.append([])
            else:
                self._add(value, len(self.groups))
        self.mean = self.total / max(self.at, 1)

    def more(self):
        return self.at < len(self.numbers)

    def take(self):
        self.at += 1
        return self.numbers[self.at - 1]

    def _add(self, value, weight):
        self.groups[-1].append(value)
        self.total += weight * value


class Derived(Reader):
    def __init__(self, numbers):
        self.scale = 2
        self.read(numbers)

    def read(self, numbers):
        self.numbers, self.at, self.groups, self.total = numbers, 0, [[]], 0
        for x in numbers:
            self._add(x, self.scale)


class Counted:
    limit = 3

    def __init__(self, xs):
        self.xs = list(xs)
        self.n = self.count()
        self.small = self.count() < self.limit

    def count(self):
        return len(self.xs)


class Node:
    def __init__(self, word, parent, registry):
        self.word = word
        self.children = []
        self.depth = 0 if parent is None else parent.depth + 1
        registry.append(self)
        if parent is not None:
            parent.children.append(self)
        self.mark = len(registry)


class Registered:
    def __init__(self, word, registry):
        self.word = word
        registry.append(self)
        self.word += 10


class Keeps:
    """Keeps a list that it was given, and changes its own."""

    def __init__(self, xs):
        self.rows = []
        for _ in range(2):
            self.put(xs)

    def put(self, xs):
        self.rows.append(xs)


class Changes(Keeps):
    """Changes the list that it was given, after the object is there."""

    def __init__(self, xs):
        self.rows = []
        self.own = []
        for _ in range(2):
            self.put(xs)
        self.rows[0].append(1)


class Gives:
    """Puts its own list into another one."""

    def __init__(self, xs, others):
        self.xs = [*xs]
        if self.give(others):
            self.xs.append(1)

    def give(self, others):
        others.append(self.xs)
        return True


class Encoded:
    def __init__(self, model, numbers):
        self.states = [torch.zeros(4)]
        for x in numbers:
            self.step(model.embedding.weight[x])
        self.last = self.states[-1]

    def step(self, x):
        self.states.append(torch.tanh(x + self.states[-1]))


class Sized:
    """Gives attributes values, and reads them, after a method has used the object."""

    def __init__(self, xs):
        self.xs = list(xs)
        self.n = self.count()
        self.m = self.n + 1
        self.items = [0] * self.n
        self.at = 0

    def count(self):
        return len(self.xs)

    def put(self, value):
        self.items[self.at] = value
        self.at += self.m - self.n


class SizedMore(Sized):
    """Its base uses the object as a whole."""

    def __init__(self, xs):
        super().__init__([0, *xs])
        self.half = self.n // 2


class Seen:
    """Others change the object before it is complete."""

    def __init__(self, x, registry):
        self.x = x
        registry.append(self)
        registry[0].x += 5
        self.y = self.x


def reads(self, xs):
    reader = Reader(xs)
    other = Reader([1, 0, *xs])
    reader.groups.append([other.at])
    return reader.groups, reader.mean, other.groups, other.total


def derives(self, xs):
    made = Derived(xs)
    made._add(5, 1)
    return made.groups, made.total


def counts(self, xs):
    made = Counted(xs)
    made.xs.append(1)
    return made.n, made.small, made.count()


def many(self, xs):
    made = [Reader(xs[:i]) for i in range(len(xs))]
    for one in made:
        one.groups[0].append(9)
    return [one.groups for one in made], [one.mean for one in made]


def links(self, xs):
    registry: list[Any] = []
    top = Node(0, None, registry)
    for x in xs:
        top = Node(x, top, registry)
    registry[0].word = 8
    return [(n.word, n.depth, n.mark, len(n.children)) for n in registry], [c.word for n in registry for c in n.children]


def registers(self, xs):
    registry: list[Any] = []
    for x in xs:
        one = Registered(x, registry)
        one.word += 100
    for one in registry:
        one.word += 1000
    return [one.word for one in registry]


def encodes(self, xs):
    return Encoded(self, xs).last


def keeps_what_changes(self, xs):
    ys = list(xs)
    kept = Keeps(ys)
    ys.append(1)
    return kept.rows


def changes_what_is_kept(self, xs):
    ys = list(xs)
    kept = Keeps(ys)
    kept.rows[0].append(1)
    return ys, kept.rows


def changes_what_it_was_given(self, xs):
    ys = list(xs)
    made = Changes(ys)
    return ys, made.rows


def gives_its_list(self, xs):
    others: list[Any] = []
    made = Gives(xs, others)
    made.xs.append(2)
    return others, made.xs


def gives_its_list_that_is_changed(self, xs):
    others: list[Any] = []
    made = Gives(xs, others)
    others[0].append(2)
    return others, made.xs


def reads_what_is_given_later(self, xs):
    made = Sized(xs)
    for x in xs:
        made.put(x + 1)
    return made.items, made.at, made.m


def base_uses_the_object(self, xs):
    made = SizedMore(xs)
    made.put(3)
    return made.items, made.half


def changed_before_it_is_complete(self, xs):
    registry: list[Any] = []
    return [Seen(x, registry).y for x in xs], [one.x for one in registry]


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.embedding = nn.Embedding(10, 4)


def of(function: Any) -> nn.Module:
    return with_forward(Model(), function)


WORK = [
    reads,
    derives,
    counts,
    many,
    links,
    registers,
    encodes,
    reads_what_is_given_later,
    base_uses_the_object,
    changed_before_it_is_complete,
]


@pytest.mark.parametrize("function", WORK, ids=lambda f: f.__name__)
def test_interpreter(function: Any) -> None:
    agrees(of(function), LISTS)


@pytest.mark.parametrize("function", [reads, links], ids=lambda f: f.__name__)
def test_generated_code(function: Any, codegen: Any, tmp_path: Path) -> None:
    agrees_natively(of(function), LISTS, codegen, tmp_path)


SHARED = [
    keeps_what_changes,
    changes_what_is_kept,
    changes_what_it_was_given,
    gives_its_list,
    gives_its_list_that_is_changed,
]


@pytest.mark.parametrize("function", SHARED, ids=lambda f: f.__name__)
def test_what_it_was_given_may_be_seen_elsewhere(function: Any) -> None:
    agrees_unless_refused(of(function), LISTS, "may be seen")
