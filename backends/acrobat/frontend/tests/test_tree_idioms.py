"""What tree networks ask of the language: fields that may be None, recursions through helper functions. Each function takes a
tree of ordinary objects and is compared with eager PyTorch in the interpreter; where Python raises, so does the program."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.tests.zoo.check import as_tensors, assert_same


class Node:
    """A binary tree with the words at its leaves; some words are missing, which only some functions mind."""

    def __init__(self, word=None, left=None, right=None):
        self.word = word
        self.left = left
        self.right = right

    @property
    def is_leaf(self):
        return self.left is None and self.right is None

    @property
    def children(self):
        return [c for c in (self.left, self.right) if c is not None]

    @property
    def leaves(self):
        return 1 if self.is_leaf else self.left.leaves + self.right.leaves


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(9, 4)
        self.linear = nn.Linear(8, 4)
        self.forget = nn.ModuleList([nn.ModuleList([nn.Linear(4, 4) for _ in range(2)]) for _ in range(2)])

    def properties_decide(self, node):
        if node.is_leaf:
            return self.embedding(torch.tensor(node.word))
        left, right = self.properties_decide(node.left), self.properties_decide(node.right)
        return torch.tanh(self.linear(torch.cat([left, right]))) / node.leaves

    def annotation_without_none(self, node: Node) -> torch.Tensor:
        if node is None:
            return torch.zeros(4)
        left, right = self.annotation_without_none(node.left), self.annotation_without_none(node.right)
        return torch.tanh(self.linear(torch.cat([left, right])))

    def numbers(self, node):
        word = -1 if node.is_leaf else self.numbers(node.left) + self.numbers(node.right)
        return word if node.word is None else node.word * 2 + word

    def compared(self, node):
        same = 1 if node.word == 3 else 0
        return same + sum(self.compared(c) for c in node.children)

    def in_an_index(self, node):
        table = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
        return table[node.word] if node.is_leaf else self.in_an_index(node.right)

    def cell(self, x, states):
        for h in states:
            x = x + torch.tanh(h)
        return x

    def helper_of_a_list(self, node):
        x = self.embedding.weight[node.word or 0]
        return self.cell(x, [self.helper_of_a_list(c) for c in node.children])

    def stacked_with_its_own(self, node):
        states = [self.stacked_with_its_own(c) for c in node.children]
        x = self.embedding.weight[0 if node.word is None else node.word]
        own = [x]
        return torch.stack(own + states).mean(0)


def tree(rng: random.Random, depth: int, missing: bool) -> Node:
    if depth == 0 or rng.random() < 0.2:
        return Node(None if missing and rng.random() < 0.3 else rng.randrange(9))
    return Node(None, tree(rng, depth - 1, missing), tree(rng, depth - 1, missing))


FUNCTIONS = [name for name in vars(Model) if not name.startswith("_") and name != "cell"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_in_eager_pytorch(name: str) -> None:
    rng = random.Random(1)
    torch.manual_seed(0)
    trees = [tree(rng, 3, i % 3 == 2) for i in range(12)]
    model = Model().eval()
    model.forward = getattr(model, name)
    program = build(model, sample=trees)
    verify(program)
    interpreter = Interpreter(program)
    with torch.no_grad():
        for root in trees:
            compare(interpreter, model.forward, root)


def compare(interpreter: Interpreter, function: Callable[[Any], Any], instance: Any) -> None:
    """That a program gives what the function gives, and an error where the function raises one."""
    try:
        expected = function(instance)
    except (TypeError, AttributeError, RuntimeError):
        with pytest.raises(InstanceError):
            interpreter.run(instance)
        return
    assert_same(as_tensors(interpreter.run(instance)), expected, repr(instance))


def test_none_names_what_needs_a_value() -> None:
    model = Model().eval()
    model.forward = model.in_an_index
    interpreter = Interpreter(build(model, sample=[Node(3), Node(None, Node(1), Node(2))]))
    with pytest.raises(InstanceError, match=r"TypeError: `node.word` needs a value, which is None"):
        interpreter.run(Node(None))
