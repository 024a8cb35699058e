# mypy: ignore-errors
"""Methods that some classes of a place override and others do not, and objects of the source whose `__eq__` knows one class."""

from __future__ import annotations

import pytest
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter


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
