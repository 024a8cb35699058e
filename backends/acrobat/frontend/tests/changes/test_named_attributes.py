"""`setattr` with names that the function writes out (`evaluator/rewriting/named_attributes.py`), against eager PyTorch."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees

WORDS = [[3, 7, 1], [2], [9, 0], [5, 5, 5, 8]]


class Node:
    def __init__(self, word):
        self.word = word
        self.left = self.right = self.h = None


class Sides:
    def __init__(self, x):
        self.high = x
        for name in ("left", "right"):
            setattr(self, name, x * 2)
        if x > 4:
            setattr(self, "low", x - 4)  # noqa: B010
        else:
            self.low = 0


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.words = nn.Embedding(10, 4)
        self.one = nn.Linear(4, 4)
        self.other = nn.Linear(4, 4)

    def root(self, words):
        root = Node(words[0])
        root.h = self.words(torch.tensor(words[0]))
        return root


class WithCells(Base):
    """A loop over modules and names."""

    def forward(self, words):
        root = self.root(words)
        queue, at = [root], 0
        while at < len(words):
            node = queue[at]
            at += 1
            for cell, side in ((self.one, "left"), (self.other, "right")):
                child = Node(at)
                child.h = torch.tanh(cell(node.h))
                setattr(node, side, child)
                queue.append(child)
        return torch.stack([x.h for x in queue]), root.left is queue[1], root.right is queue[1], [x.word for x in queue]


class AtRunTime(Base):
    def forward(self, words):
        stack = [self.root(words)]
        for word in words:
            node, child = stack[-1], Node(word)
            side = "left" if node.h[0].item() > 0 else "right"
            child.h = torch.tanh(self.one(node.h))
            setattr(node, side, child)
            setattr(child, "word" if word > 4 else "right", None)
            stack.append(child)
        return [(x.left is None, x.right is None, x.word is None) for x in stack], stack[-1].h


class Zipped(Base):
    def forward(self, words):
        root, kids = self.root(words), [Node(2), Node(3)]
        for k, (name, kid) in enumerate(zip(["left", "right"], kids, strict=True)):
            setattr(root, name, kid)
            setattr(kid, "h", root.h + k)  # noqa: B010
        return root.left.h, root.right.h, root.left.word


class InInit(Base):
    def forward(self, words):
        made = Sides(words[0])
        return made.left + made.right + made.low, made.high


class OfModel(Base):
    def forward(self, words):
        setattr(self, "seen", self.words(torch.tensor(words[0])))  # noqa: B010
        return self.seen * 2


class InOrder(Base):
    """Python finds the object before the value."""

    def following(self, log):
        log.append(1)
        return len(log)

    def forward(self, words):
        log, nodes = [], [Node(0), Node(0), Node(0)]
        setattr(nodes[self.following(log)], "word", self.following(log))  # noqa: B010
        return [x.word for x in nodes]


class Renamed(Base):
    """A method under a name, of an attribute that gets another list."""

    def forward(self, words):
        root = self.root(words)
        root.left = [1]
        before = root.left
        push = before.append
        setattr(root, "left", [5])  # noqa: B010
        push(2)
        return before, root.left


@pytest.mark.parametrize("cls", [WithCells, AtRunTime, Zipped, InInit, OfModel, InOrder])
def test_as_eager(cls):
    agrees(cls(), WORDS, [[6, 2], [0, 1, 2, 3], [4]])


def test_a_method_under_a_name_of_an_attribute_that_gets_another_list():
    with pytest.raises(CompileError, match="`append` changes an object that may be seen under another name than `before`"):
        build(Renamed().eval(), sample=WORDS)


class OfAnyName(Base):
    def put(self, node, name):
        setattr(node, name, 3)

    def forward(self, words):
        root = self.root(words)
        self.put(root, "word")
        return root.word


class WithAnother(Base):
    """A name that gets values in another way, too."""

    def forward(self, words):
        root = self.root(words)
        for name in ("left", "right"):
            if words[0] > 4:
                name = "wo" + "rd"[: len(words)]
            setattr(root, name, 3)
        return root.left


@pytest.mark.parametrize("cls", [OfAnyName, WithAnother])
def test_names_that_are_not_written_out(cls):
    with pytest.raises(CompileError, match="assigns to an attribute by a name that is not written out in the function"):
        build(cls().eval(), sample=WORDS)


def test_a_function_of_that_name(monkeypatch):
    monkeypatch.setitem(globals(), "setattr", lambda owner, name, value: None)
    with pytest.raises(CompileError, match="is not Python's own here"):
        build(OfModel().eval(), sample=WORDS)
