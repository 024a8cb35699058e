"""What a statement changes is found before what it puts there is computed: by then, the functions and methods that are called
may have changed the lists, attributes and variables on the way."""

# mypy: ignore-errors

from __future__ import annotations

import heapq
import re
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees

LISTS = [[3], [1, 2], [5, 3, 3], [4, 4]]


class Box:
    def __init__(self, xs):
        self.rows = [[x, x + 1] for x in xs] + [[1], [2], [3]]
        self.words = list(xs)
        self.at = 0

    def take(self):
        return self.rows.pop()[0]

    def take_through(self):
        rows = self.rows
        return rows.pop()[0]

    def next_word(self):
        self.at += 1
        return self.words.pop(0)

    def new(self, x):
        self.rows.append([x])
        return len(self.rows) - 1

    def note(self):
        self.rows[-2].append(77)
        return 8

    def reset(self):
        self.rows = [[0], [5], [6]]
        return 7

    def replace(self):
        self.rows[-2] = [100]
        return 8


def drop(rows):
    return rows.pop()[0]


class Called(nn.Module):
    """Methods and functions take items from the end of the list in which the changed one is, or add some there."""

    def forward(self, xs):
        box = Box(xs)
        box.rows[-1].append(box.new(4))
        box.rows[-2].append(box.take())
        box.rows[-1].append(box.next_word())
        box.rows[-2].append(box.note())
        box.rows[-2].append(drop(box.rows))
        at = len(box.rows) - 2
        box.rows[at].append(box.rows.pop()[0])
        return box.rows, box.words, box.at


class CalledByTwoNames(Called):
    def forward(self, xs):
        box = Box(xs)
        same = box
        same.rows[-1].append(box.new(4))
        box.rows[-2].append(same.take())
        box.rows[-2].append(same.take_through())
        box.rows[-1].append(same.next_word())
        return box.rows, same.words


class Nested(nn.Module):
    """The same, of nested functions and of an attribute of the model."""

    def take(self):
        return self.rows.pop()[0]

    def forward(self, xs):
        rows = [[x] for x in xs] + [[1], [2], [3]]
        sets = [set(), {1}, {2}]
        self.rows = [[x] for x in xs] + [[1], [2], [3]]

        def take():
            return rows.pop()[0]

        rows[-2].append(take())
        heapq.heappush(rows[-2], take())
        sets[-2].add(min(sets.pop()))
        self.rows[-2].append(self.take())
        return rows, [sorted(s) for s in sets], self.rows


class Indices(nn.Module):
    """Indices are computed before, too, and so are numbers that are written before a call which changes their variable."""

    def forward(self, xs):
        box, numbers, counts, rows = Box(xs), [*xs] * 5, torch.zeros(6, 6), [[x] for x in range(9)]
        i = j = 0

        def step():
            nonlocal i, j
            i, j = (i + 1) % 5, (j + 2) % 5
            return i + 1

        numbers[i] += step()
        counts[i, j] += step()
        counts[j] += step()
        rows[i].append(step())
        rows[j] += [step()]
        box.rows[box.at].append(box.next_word())
        total = i + step() * j
        return box.rows, numbers, counts, rows, total, (i, step(), i), [numbers[j], step(), numbers[j]], both(i, step())


def both(a, b):
    return a * 100 + b


class MayBeNone(nn.Module):
    """Indices that are None at first, where something is put at them, or taken away."""

    def forward(self, xs):
        best = None
        for i, x in enumerate(xs):
            if best is None or x > xs[best]:
                best = i
        numbers, rows = [*xs, 0], [[x] for x in xs]
        numbers[best] = 50
        numbers.insert(best, 3)
        rows[best].append(numbers.pop(best))
        rows[best][0] += 1
        return numbers, rows


class Agenda(nn.Module):
    """A stack has nodes, each with the list in which it is to be put, and its place there; the first one has neither."""

    def forward(self, xs):
        root = {"symbol": xs[0], "children": []}
        agenda, seen = [(root, None, None, 0)], []
        while agenda:
            node, siblings, at, depth = agenda.pop()
            if depth < 2:
                node["children"] = list(xs)
                for i in range(len(xs)):
                    agenda.append(({"symbol": i, "children": []}, node["children"], i, depth + 1))
            if siblings is not None:
                siblings[at] = node["symbol"] * 10
            seen.append(node["symbol"])
        return root["children"], seen


@pytest.mark.parametrize("model", [Called, CalledByTwoNames, Nested, Indices, MayBeNone, Agenda])
def test_what_is_changed_is_found_before(model: Any) -> None:
    agrees(model(), LISTS)


def _replaced(self, xs):
    box = Box(xs)
    box.rows.append([box.reset()])
    return box.rows


def _replaced_around(self, xs):
    box = Box(xs)
    box.rows[-2].append(box.reset())
    return box.rows


def _put(self, xs):
    box = Box(xs)
    box.rows[-2].append(box.replace())
    return box.rows


def _front(self, xs):
    rows = [[x] for x in xs] + [[1], [2]]

    def first():
        return rows.pop(0)[0]

    rows[1].append(first())
    return rows


def _bound_anew(self, xs):
    rows = [[x] for x in xs]

    def anew():
        nonlocal rows
        rows = [[5]]
        return 3

    rows.append([anew()])
    return rows


def _of_dictionary(self, xs):
    rows = {x: [x] for x in xs}

    def enter():
        rows[xs[0]] = [9]
        return 3

    rows[xs[0]].append(enter())
    return rows


def _tensor(self, xs):
    total = torch.zeros(2)

    def more():
        nonlocal total
        total = total + 1
        return total

    return torch.add(total, more())


def _joined(self, xs):
    box = Box(xs)
    same = box
    box.rows[-2] += [same.take()]
    return box.rows, same.rows


ELSEWHERE = "gets longer or shorter after `{}` was found, or gets other items"


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (_replaced, "`box.rows` gets another value after it was found"),
        (_replaced_around, "`box.rows` gets another value after it was found"),
        (_bound_anew, "`rows` gets another value after it was found"),
        (_put, ELSEWHERE.format("box.rows[-2]")),
        (_front, ELSEWHERE.format("rows[1]")),
        (_of_dictionary, ELSEWHERE.format("rows[xs[0]]")),
        (_tensor, "an argument of this call changes a list or object that is named before"),
        (_joined, "`+=` changes what `box.rows` has"),
    ],
)
def test_what_cannot_be_told_is_refused(forward: Any, message: str) -> None:
    model = type("Model", (nn.Module,), {"forward": forward})()
    with pytest.raises(CompileError, match=re.escape(message)):
        build(model, sample=LISTS)
