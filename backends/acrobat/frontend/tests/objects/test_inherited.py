# mypy: ignore-errors
"""Methods and constants that some classes of a place override and others do not, and objects of the source whose `__eq__` knows
one class."""

from __future__ import annotations

import pytest
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees


class Leaf:
    def __init__(self, n):
        self.number = n

    def value(self):
        return self.number


class Sum:
    def __init__(self, left, right):
        self.left, self.right = left, right

    def value(self):
        return self.left.value() + self.right.value()


class Negation(Sum):
    def value(self):
        return -super().value()


class Value(nn.Module):
    def forward(self, tree):
        return tree.value()


def test_super_where_other_classes_are_no_subclasses():
    trees = [Negation(Leaf(3), Sum(Leaf(1), Leaf(2))), Sum(Negation(Leaf(1), Leaf(5)), Leaf(2)), Leaf(4)]
    interpreter = Interpreter(build(Value(), sample=trees))
    assert [interpreter.run(t) for t in trees] == [-6, -4, 4]


class Word:
    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return self.text == other.text

    def __hash__(self):
        return hash(self.text)


STOP = Word("stop")


class Ends(nn.Module):
    def forward(self, words):
        last = None
        for word in words:
            if word == STOP:
                return "stopped" if last is None else last.text
            last = word
        return "went on"


def test_an_object_of_the_source_whose_eq_does_not_expect_none():
    sentences = [[Word("a"), Word("stop")], [Word("b")], [Word("stop"), Word("c")]]
    with pytest.raises(CompileError, match="cannot be kept in a variable"):
        build(Ends(), sample=sentences)


class Action:
    index = None
    weight = 1


class Open(Action):
    def __init__(self, label):
        self.index = 2 + label


class Shift(Action):
    index = 0
    weight = 10

    def __init__(self, word):
        self.word = word


class Reduce(Action):
    index = 1

    def __init__(self):
        self.weight = 100


class Stop(Action):
    pass


PLACES = {"Open": 1, "Shift": 2, "Reduce": 3}
NAMES = ["Open", "Shift", "Reduce"]


class Score(nn.Module):
    def forward(self, actions):
        total = 0
        for action in actions:
            if action.index is None:
                break
            total += action.index * action.weight
            name = type(action).__name__  # never "Stop"
            total += 1000 * PLACES[name] + 10000 * NAMES.index(name)
        return total


ACTIONS = [[Open(3), Shift("a"), Reduce(), Stop(), Open(1)], [Shift("b"), Open(0)], []]


def test_constants_of_classes_that_objects_of_others_have_of_their_own():
    agrees(Score(), ACTIONS)


class Unchecked(nn.Module):
    def forward(self, actions):
        total = 0
        for action in actions:
            name = type(action).__name__
            total += NAMES.index(name) if len(actions) < 5 else PLACES[name]
        return total


def test_a_lookup_of_constants_that_fails_is_an_error_of_the_instances_that_come_to_it():
    interpreter = Interpreter(build(Unchecked(), sample=ACTIONS))
    assert interpreter.run(ACTIONS[1]) == 1
    with pytest.raises(InstanceError, match="KeyError: 'Stop'"):
        interpreter.run(ACTIONS[0])
    with pytest.raises(InstanceError, match="ValueError: 'Stop' is not in"):
        interpreter.run(ACTIONS[0][2:4])
