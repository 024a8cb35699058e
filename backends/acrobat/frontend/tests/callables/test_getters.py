"""`attrgetter` and `itemgetter`, also for a function that is given one; cached functions with results of several types."""

# mypy: ignore-errors
from __future__ import annotations

import functools
import operator
from collections import defaultdict, deque
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from operator import attrgetter

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward


@dataclass
class Place:
    x: int


@dataclass
class Message:
    author: str
    weight: float
    place: Place


def messages(*authors):
    return [Message(a, 0.5 + i % 3, Place(i)) for i, a in enumerate(authors)]


THREADS = [messages(*"aab"), messages("b"), messages(*"abaa"), messages(*"bba")]


class Turn:
    def __init__(self, author, group):
        self.author, self.messages = author, list(group)
        self.weight = self.messages[-1].weight


def turns(thread):
    for author, group in groupby(thread, key=attrgetter("author")):
        if author != "b":
            yield Turn(author, group)


def grouped(self, thread):
    return [(t.author, t.weight, len(t.messages)) for t in turns(thread)], [
        sum(m.weight for m in group) for _, group in groupby(thread, key=attrgetter("author"))
    ]


def in_order(self, thread):
    found = sorted(thread, key=attrgetter("author", "weight"))
    return (
        [(m.author, m.weight) for m in found],
        [*map(attrgetter("place.x"), thread)],
        max(thread, key=attrgetter("weight")).author,
    )


def of_items(self, thread):
    pairs = sorted((m.author, m.place.x) for m in thread)
    names = [name for name, _ in groupby(pairs, key=operator.itemgetter(0))]
    return names, [operator.itemgetter(1, 0)(pair) for pair in pairs]


@functools.cache
def tokens(text):
    found = []
    for letter in text:
        if letter.isdigit():
            found.append(("number", float(letter)))
        elif letter == "b":
            found.append(("pair", (letter, 2)))
        else:
            found.append(("name", letter))
    return tuple(found)


def cached(self, thread):
    total = 0.0
    for tag, value in tokens("".join(m.author for m in thread) + str(len(thread))):
        total += value if tag == "number" else value[1] if tag == "pair" else len(value)
    return total


class Kind(Enum):
    COLUMN = "column"
    TABLE = "table"


GRAMMAR = {"a": ("b", Kind.TABLE, "b"), "b": (Kind.COLUMN,)}


def told_apart(self, thread):
    found, stack = [], [thread[0].author]
    while stack:
        symbol = stack.pop()
        if isinstance(symbol, Kind):
            found.append(symbol.value)
        else:
            found.append(symbol)
            stack.extend(reversed(GRAMMAR[symbol]))
    return found


@pytest.mark.parametrize("forward", [grouped, in_order, of_items, cached, told_apart])
def test_as_in_python(forward):
    agrees(with_forward(nn.Module(), forward), THREADS)


class Evaluator:
    """A visitor that remembers the authors that it has seen, and their order."""

    def __init__(self, model):
        self.model = model
        self.done = {}
        self.open = []

    def value(self, name, thread):
        if name in self.done:
            return self.done[name]
        self.open.append(name)
        found = 0.0
        for m in thread:
            if m.author == name:
                found += self.visit(m) + len(self.open)
        self.done[name] = found
        return found

    def visit(self, m):
        return getattr(self, "visit_" + type(m).__name__.lower())(m)

    def visit_message(self, m):
        self.open.append(m.author)
        return m.weight


def visited(self, thread):
    evaluator = Evaluator(self)
    return [evaluator.value(m.author, thread) for m in thread], evaluator.open


def in_order_of_their_first_message(self, thread):
    found = {}
    for m in thread:
        found.setdefault(m.author)
    return list(found), found.setdefault("z"), len(found)


class Memory:
    def __init__(self, size):
        self.sums = defaultdict(lambda: [0.0] * size)
        self.recent = defaultdict(lambda: deque(maxlen=size))

    def add(self, m):
        self.sums[m.author][0] += m.weight
        self.recent[m.author].append(m.weight)
        return sum(self.recent[m.author])


def of_recent(self, thread):
    memory = Memory(2)
    return [memory.add(m) for m in thread]


@pytest.mark.parametrize("forward", [visited, in_order_of_their_first_message, of_recent])
def test_objects_that_remember(forward):
    agrees(with_forward(nn.Module(), forward), THREADS)
