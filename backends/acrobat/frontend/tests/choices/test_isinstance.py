"""`isinstance` of objects of an instance: each branch knows the class that an object has in it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.tests.zoo.check import agrees

HEAD = """
import torch
import torch.nn as nn


class Node:
    def weight(self):
        return 1.0


class Leaf(Node):
    def __init__(self, word):
        self.word = word


class One(Node):
    def __init__(self, child, tag):
        self.child, self.tag = child, tag

    def weight(self):
        return 0.5


class Two(Node):
    def __init__(self, left, right=None):
        self.left, self.right = left, right


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(9, 4)
        self.merge = nn.Linear(8, 4)
        self.tags = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Linear(4, 4)})

"""

MODELS = {
    "early returns": """
    def forward(self, node):
        if isinstance(node, Leaf):
            return self.table.weight[node.word]
        if isinstance(node, One):
            return self.forward(node.child) * node.weight()
        left = self.forward(node.left)
        right = left if node.right is None else self.forward(node.right)
        return torch.tanh(self.merge(torch.cat([left, right])))
""",
    "not, and, or": """
    def forward(self, node):
        if isinstance(node, One) and node.tag != "c":
            return torch.relu(self.tags[node.tag](self.forward(node.child)))
        if not isinstance(node, (Leaf, Two)):
            return self.forward(node.child)
        if isinstance(node, Leaf):
            value = self.table.weight[node.word]
        else:
            value = self.forward(node.left) * node.weight()
        return value
""",
    "as values": """
    def forward(self, node):
        leaf = isinstance(node, Leaf)
        below = self.table.weight[0] if leaf else self.below(node)
        return below * (2.0 if isinstance(node, (One, Two)) else 3.0)

    def below(self, node):
        return self.forward(node.child) if isinstance(node, One) else self.table.weight[1]
""",
    "a function of the same name": """
    def forward(self, node):
        isinstance = lambda x, kind: False
        while isinstance(node, Leaf):
            node = node
        return self.table.weight[1 if not isinstance(node, Leaf) or isinstance(node, One) else 0]
""",
    "a base class": """
    def forward(self, node):
        total = torch.zeros(4)
        while isinstance(node, Node) and isinstance(node, One):
            total = total + self.table.weight[3]
            node = node.child
        return total
""",
}


def tree(module: Any, rng: random.Random, depth: int = 4) -> Any:
    kind = rng.random()
    if depth == 0 or kind < 0.25:
        return module.Leaf(rng.randrange(9))
    if kind < 0.5:
        return module.One(tree(module, rng, depth - 1), rng.choice("abc"))
    return module.Two(tree(module, rng, depth - 1), tree(module, rng, depth - 1) if rng.random() < 0.7 else None)


@pytest.mark.parametrize("name", MODELS)
def test_model(name: str, tmp_path: Path) -> None:
    module = load(tmp_path, HEAD + MODELS[name], f"classes_{abs(hash(name))}")
    model, rng = module.Model().eval(), random.Random(0)
    program = build(model, sample=[tree(module, rng) for _ in range(12)])
    verify(program)
    interpreter = Interpreter(program)
    with torch.no_grad():
        for _ in range(12):
            given = tree(module, rng)
            assert torch.allclose(torch.tensor(interpreter.run(given)), model(given).double(), atol=1e-5)


def test_a_field_of_another_class_is_an_error(tmp_path: Path) -> None:
    text = HEAD + "    def forward(self, node):\n        return node.left.weight() if isinstance(node, Leaf) else 1.0\n"
    module = load(tmp_path, text, "classes_wrong")
    with pytest.raises(CompileError, match="a `Leaf` has no `left`"):
        build(module.Model().eval(), sample=[tree(module, random.Random(i)) for i in range(12)])


class Open(NamedTuple):
    number: int


class Word(NamedTuple):
    number: int


class Tree(NamedTuple):
    number: int
    children: list[Any]


def brackets(x: Any) -> str:
    """`Open` has no children, and never comes here."""
    if isinstance(x, Word):
        return str(x.number)
    return f"({x.number} {' '.join(brackets(c) for c in x.children)})"


class Stacked(nn.Module):
    def forward(self, xs: Any) -> Any:
        stack: Any = [Open(7)]
        for x in xs:
            stack.append(Word(x))
        children: Any = []
        while not isinstance(stack[-1], Open):
            children.append(stack.pop())
        stack.append(Tree(stack.pop().number, children))
        return brackets(stack[0]), stack[0].number


def test_one_of_several_classes_of_a_branch_lacks_an_attribute() -> None:
    agrees(Stacked(), [[3], [1, 3], [2, 1, 3]])


class Reached(nn.Module):
    def forward(self, xs: Any) -> Any:
        return [brackets(Word(x) if x else Open(x) if xs[0] else Tree(x, [Word(x)])) for x in xs]


def test_it_is_an_error_of_the_instance_that_comes_there() -> None:
    program = agrees(Reached(), [[3], [0, 0]])
    with pytest.raises(InstanceError, match="AttributeError: a Open has no `children`"):
        Interpreter(program).run([1, 0])


class Empty(nn.Module):
    def forward(self, xs: Any) -> Any:
        none = [isinstance(x, type(None)) for x in xs]
        some = [1 if isinstance(x, (str, type(None))) else 0 for x in xs]
        return none, some, [isinstance(x, object) for x in xs], [isinstance(x, float) for x in xs]


def test_none_is_of_its_class() -> None:
    agrees(Empty(), [[None, "a", 2], ["b", None], [3, 4]])
    agrees(Empty(), [[None, "a"], ["b"]])
