"""Objects that the model makes of a class of which the instance has objects too: their attributes have other values, and they
are told apart from the instance's. Against eager PyTorch."""

# mypy: ignore-errors
from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import List, Optional  # noqa: UP035

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively


@dataclass
class Node:
    word: int
    left: Optional[Node] = None  # noqa: UP045
    right: Optional[Node] = None  # noqa: UP045
    h: Optional[Tensor] = None  # noqa: UP045


class Plain:
    def __init__(self, word, left=None, right=None):
        self.word, self.left, self.right = word, left, right
        self.h = None
        self.parent = None
        for child in (left, right):
            if child is not None:
                child.parent = self


class Equal(Plain):
    def __eq__(self, other):
        return self.word == other.word

    def __hash__(self):
        return hash(self.word)


@dataclass
class Grown:
    nodes: List[Node] = field(default_factory=list)  # noqa: UP006
    first: Optional[Node] = None  # noqa: UP045


def trees(cls, count=8, seed=1):
    rng = random.Random(seed)

    def tree(depth):
        if depth == 0 or rng.random() < 0.3:
            return cls(rng.randrange(10))
        return cls(rng.randrange(10), tree(depth - 1), tree(depth - 1) if rng.random() < 0.8 else None)

    return [tree(3) for _ in range(count)]


class Base(nn.Module):
    nodes = Node

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.words = nn.Embedding(10, 4)
        self.inner = nn.Linear(4, 4)
        self.choose = nn.Linear(4, 10)

    def embed(self, node):
        return self.words(torch.tensor(node.word))


class Translated(Base):
    """A new tree of the instance's form."""

    def walk(self, node: Node) -> Node:
        new = Node(node.word + 1)
        new.h = self.embed(node)
        if node.left is not None:
            new.left = self.walk(node.left)
            new.h = new.h + self.inner(new.left.h)
        if node.right is not None:
            new.right = self.walk(node.right)
            new.h = torch.tanh(new.h + new.right.h)
        return new

    def total(self, node: Optional[Node]) -> int:  # noqa: UP045
        return 0 if node is None else node.word + self.total(node.left) + self.total(node.right)

    def forward(self, tree):
        new = self.walk(tree)
        return new.h, self.total(new), self.total(tree), type(new) is Node, isinstance(new, Node)


class GivenBack(Translated):
    def forward(self, tree):
        return self.walk(tree)


class Generated(Base):
    """A tree that is decoded from the encoding of the instance, of which each object is encoded once."""

    def encode(self, node, memo):
        if id(node) in memo:
            return memo[id(node)]
        h = self.embed(node)
        for child in (node.left, node.right):
            if child is not None:
                h = h + self.inner(self.encode(child, memo))
        memo[id(node)] = h
        return h

    def forward(self, tree):
        out = Grown()
        root = Node(0)
        root.h = self.encode(tree, {})
        out.first = root
        stack = [root]
        while stack and len(out.nodes) < 6:
            node = stack.pop()
            out.nodes.append(node)
            node.word = int(self.choose(node.h).argmax())
            if node.word % 2 == 0 or len(out.nodes) < 3:
                node.left, node.right = Node(0), Node(0)
                node.left.h = torch.tanh(self.inner(node.h))
                node.right.h = torch.tanh(self.inner(node.h) + 1)
                stack += [node.left, node.right]
        return [x.word for x in out.nodes], out.first.left is out.nodes[1], torch.stack([x.h for x in out.nodes])


class Around(Base):
    """A new node around the instance's."""

    def forward(self, tree):
        new = Node(3, tree, tree)
        return self.embed(new.left) + new.word, new.left is new.right


class Written(Base):
    """The instance's objects get values too."""

    def encode(self, node):
        h = self.embed(node)
        for child in (node.left, node.right):
            if child is not None:
                self.encode(child)
                h = h + self.inner(child.h)
        node.h = torch.tanh(h)

    def forward(self, tree):
        self.encode(tree)
        new = Node(1)
        new.h = tree.h
        new.left = Node(2)
        new.left.h = new.h * 2
        return new.h + new.left.h, tree.h


class Upwards(Base):
    """Objects that lead back to themselves, in the instance and among those that the model makes."""

    nodes = Plain

    def forward(self, tree):
        node, steps = tree, 0
        while node.left is not None:
            node = node.left
        h = self.embed(node)
        while node.parent is not None:
            node, steps = node.parent, steps + 1
            h = self.inner(h) + self.embed(node)
        new, child = Plain(4), Plain(5)
        new.h = h
        new.left = child
        child.parent = new
        return h, steps, child.parent.h, child.parent is new, new.left.parent.left is child


class ByOwnEquality(Base):
    nodes = Equal

    def forward(self, tree):
        new = Equal(1)
        new.h = self.embed(tree)
        return new == tree, new in [tree], tree in [new], new.h


class Replaced(Base):
    """A copy of an object of the instance with another value in an attribute."""

    def forward(self, tree):
        new = replace(tree, h=self.embed(tree))
        again = replace(new, word=new.word + 1)
        return new.h, again.word, tree.word, 0 if again.left is None else again.left.word


class Numbered(Base):
    """`id` of an object that the model makes is that of none of the instance's."""

    def forward(self, tree):
        nodes = [Node(i) for i in range(20)]
        for node in nodes:
            node.h = self.embed(tree)
        memo = {id(tree): 1}
        again = [nodes[0]]
        again[-1].h = node.h + 1
        return [id(node) in memo for node in nodes], nodes[0].h


CASES = [Translated, GivenBack, Generated, Around, Written, Upwards, ByOwnEquality, Replaced, Numbered]


@pytest.mark.parametrize("cls", CASES)
def test_as_eager(cls):
    agrees(cls(), trees(cls.nodes), trees(cls.nodes, seed=2))


@pytest.mark.parametrize("cls", [Generated, GivenBack])
def test_natively(cls, codegen, tmp_path):
    agrees_natively(cls(), trees(cls.nodes), codegen, tmp_path)


class InOnePlace(Base):
    def forward(self, tree):
        new = Node(1)
        new.h = self.embed(tree)
        return (new if tree.word > 4 else tree).word, new.h


class Compared(Base):
    def forward(self, tree):
        new = Node(3)
        new.h = None
        return new == tree


@pytest.mark.parametrize("cls", [InOnePlace, Compared])
def test_beside_those_of_the_instance(cls):
    with pytest.raises(CompileError, match=r"`Node.h` is None in all instances of the sample"):
        build(cls().eval(), sample=trees(Node))
