# mypy: ignore-errors
"""Special methods that only some of the classes of one place have, or each in its own way."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, with_forward


class Text:
    def __init__(self, words):
        self.words = words

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        return self.words[i]

    def __iter__(self):
        return iter(self.words)


class Part:
    def __init__(self, parts, title=None):
        self.parts, self.title = parts, title

    def __iter__(self):
        return iter(self.parts)

    def __bool__(self):
        return self.title is not None


class Rule:
    def __init__(self, width):
        self.width = width


class Scaled:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x * self.by


class Added:
    def __init__(self, what):
        self.what = what

    def __call__(self, x):
        return x + self.what


class Held:
    def __init__(self, item):
        self.item = item


class Pair(NamedTuple):
    left: int
    right: int


class Triple(NamedTuple):
    left: int
    right: int
    vector: torch.Tensor


class Labelled(NamedTuple):
    label: str
    vector: torch.Tensor


class Read(NamedTuple):
    vector: torch.Tensor
    word: str


class Sums(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(9, 4)

    def sum(self, block):
        if isinstance(block, Text):
            total = torch.zeros(4)
            for word in block:
                total = total + self.embedding(torch.tensor(word))
            return total / len(block) if block else total
        if isinstance(block, Rule):
            return torch.full((4,), float(block.width))
        total = torch.ones(4)
        for child in block:
            total = total * self.sum(child)
        return total + 1 if block else total

    def forward(self, block):
        return self.sum(block)


TREES = [
    Part([Text([1, 2]), Part([Text([]), Rule(3)], "a")]),
    Part([], "b"),
    Part([Part([]), Text([4]), Rule(0)], "c"),
]


def test_where_tests_tell_the_class():
    agrees(Sums(), TREES)


def test_the_truth_of_objects_of_several_classes():
    agrees(with_forward(nn.Module(), lambda self, block: [1 if x else 0 for x in block.parts]), TREES)


def test_the_truth_of_a_tuple_beside_that_of_objects():
    sample = [Held(x) for x in (Pair(0, 0), Text([]), Text([1]), Rule(2))]
    agrees(with_forward(nn.Module(), lambda self, x: 1 if x.item else 0), sample)


OF_TEXTS = {
    "object of type 'Rule' has no len()": lambda self, x: len(x),
    "'Rule' object is not iterable": lambda self, x: [word + 1 for word in x],
    "'Rule' object is not subscriptable": lambda self, x: x[0],
}


@pytest.mark.parametrize("text", OF_TEXTS)
def test_an_object_of_a_class_without_the_method_is_an_error_of_the_instance(text):
    model = with_forward(nn.Module(), OF_TEXTS[text])
    interpreter = Interpreter(build(model, sample=[Text([1]), Rule(2)]))
    assert interpreter.run(Text([3, 4])) == model(Text([3, 4]))
    with pytest.raises(TypeError) as eager:
        model(Rule(2))
    assert str(eager.value) == text
    with pytest.raises(InstanceError, match=re.escape(f"TypeError: {text}")):
        interpreter.run(Rule(2))


def test_calls_of_objects_of_several_classes():
    def forward(self, steps):
        h = torch.ones(3)
        for step in steps.item:
            h = step(h)
        return h

    agrees(with_forward(nn.Module(), forward), [Held([Scaled(2), Added(1)]), Held([]), Held([Added(3), Scaled(3)])])


def lengths_of_tuples(self, word):
    items = [Pair(len(word), 2)]
    if word == "no":
        items.append(Triple(4, 3, torch.ones(2)))
    return len(items[0]), [len(item) for item in items]


def test_lengths_of_named_tuples():
    agrees(with_forward(nn.Module(), lengths_of_tuples), ["no", "yes"])


def taken_apart(self, words):
    stack, total = [], torch.zeros(2)
    for word in words:
        stack.append(Labelled(word, torch.full((2,), float(len(word)))) if "a" in word else Read(torch.ones(2), word))
    while stack:
        if isinstance(stack[-1], Labelled):
            label, vector = stack.pop()
            total = total + vector * len(label)
        else:
            vector, word = stack.pop()
            total = total * 2 + vector
    return total


def test_named_tuples_of_several_classes_are_taken_apart():
    agrees(with_forward(nn.Module(), taken_apart), [["a", "b", "ab"], ["b", "bbb"], [], ["aaaa"]])


def test_a_named_tuple_with_more_fields_is_an_error_of_the_instance():
    model = with_forward(nn.Module(), lambda self, words: sum(pair_of(word) for word in words))
    interpreter = Interpreter(build(model, sample=[["a", "b"]]))
    assert interpreter.run(["a", "ab"]) == model(["a", "ab"])
    with pytest.raises(InstanceError, match="ValueError: too many values to unpack, a Triple where 2 are expected"):
        interpreter.run(["a", "b"])


def pair_of(word):
    items = [Pair(len(word), 2) if "a" in word else Triple(4, 3, torch.ones(2))]
    left, right = items[0]
    return left + right


def test_a_length_beside_that_of_a_tuple_is_refused():
    model = with_forward(nn.Module(), lambda self, x: len(x.item))
    with pytest.raises(CompileError, match="this has no length"):
        build(model, sample=[Held(Pair(1, 2)), Held(Text([1]))])


class Slots:
    def __init__(self, size):
        self.items = [0] * size
        self.changes = {}

    def __getitem__(self, i):
        return self.items[i]

    def __setitem__(self, i, item):
        self.items[i] = item
        self.changes[i] = self.changes.get(i, 0) + 1

    def put(self, item):
        for i in range(len(self.items)):
            if self.items[i] == 0:
                self[i] = item
                return i
        self[0] += item
        return 0


def slots(self, xs):
    made = Slots(3)
    places = [made.put(x) for x in xs]
    made[1] = 99
    made[2] += 5
    first, made[0] = 7, made[0] + 1
    return places, made.items, sorted(made.changes.items()), made[1] + first


def test_items_of_an_object_are_assigned_to_by_its_class():
    agrees(with_forward(nn.Module(), slots), [[1, 2, 3, 4], [5], [6, 7, 8, 9, 10, 11]])
