"""Functions that only ask for the class of what they are given: what follows knows it, as after `isinstance` itself."""

# mypy: ignore-errors
from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, ModuleChanged
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees


@dataclass
class Leaf:
    word: int


@dataclass
class Pair:
    left: Any
    right: Any


def is_leaf(tree):
    """Whether a tree has no children."""
    return isinstance(tree, Leaf)


def is_inner(tree):
    return not is_bottom(tree)


def is_bottom(tree):
    return type(tree) is Leaf or isinstance(tree, (int, bool))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 3)
        self.linear = nn.Linear(3, 3)


class OfLists(Encoder):
    def forward(self, x):
        if torch.is_tensor(x):
            return self.linear(x)
        return torch.stack([self.forward(part) for part in x]).sum(0)


class OfObjects(Encoder):
    def forward(self, tree):
        inside = self.embed.weight[tree.word] if is_leaf(tree) else self.forward(tree.left) + self.forward(tree.right)
        return torch.tanh(self.linear(inside))


class OfSeveralTypes(Encoder):
    def forward(self, tree):
        if is_inner(tree):
            return self.linear(self.forward(tree.left) - self.forward(tree.right))
        return self.embed.weight[tree] if isinstance(tree, int) else self.embed.weight[tree.word]


A, B = torch.ones(3), torch.arange(3.0)
CASES = [
    (OfLists, [A, [A, B], [[B], [A, [A]]]]),
    (OfObjects, [Leaf(1), Pair(Leaf(2), Pair(Leaf(3), Leaf(0)))]),
    (OfSeveralTypes, [4, Leaf(1), Pair(Leaf(2), Pair(3, Leaf(0)))]),
]


@pytest.mark.parametrize(("model", "instances"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_the_class_is_known_after_the_call(model, instances):
    torch.manual_seed(0)
    agrees(model(), instances)


def test_a_function_that_is_replaced_later_is_noticed(monkeypatch):
    trees = CASES[1][1]
    model = OfObjects()
    executable = compile(model, sample=trees)
    executable(trees)
    monkeypatch.setattr(sys.modules[__name__], "is_leaf", is_inner)
    with pytest.raises(ModuleChanged, match="`is_leaf`"):
        executable(trees)


class Shadowed(Encoder):
    def forward(self, tree):
        is_leaf = self.linear
        return is_leaf(tree)


def test_a_local_name_is_another_function():
    with pytest.raises(CompileError, match="`Linear` takes"):
        build(Shadowed(), sample=CASES[1][1])


def one(tree):
    return other(tree)


def other(tree):
    return one(tree)


class Endless(Encoder):
    def forward(self, tree):
        return one(tree)


def test_functions_that_only_call_each_other_are_not_asked_for_ever():
    with pytest.raises(CompileError, match="a recursion needs a case that ends without it"):
        build(Endless(), sample=CASES[1][1])
