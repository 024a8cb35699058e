"""Lists that the entries of a frontier refer to, which wait on a stack or in a queue for what is put into the lists: named
tuples, dataclasses and other objects. The trees of nodes that are made so are results. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2, 6, 7, 8], [2, 2], [7, 7, 1, 0, 3, 3]]


@dataclass
class Node:
    label: str
    children: list


class Linked(NamedTuple):
    label: str
    children: list


class Named(NamedTuple):
    into: list
    depth: int


@dataclass
class Open:
    depth: int
    into: list
    h: torch.Tensor


class Plain:
    def __init__(self, rule, out):
        self.rule = rule
        self.out = out


@dataclass
class Step:
    word: int
    bag: list
    before: Step | None


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(10, 4)
        self.lin = nn.Linear(4, 4)


class WordsAndNodes(Base):
    """Fields are given by name and by position; what is put into the lists is a string or a node."""

    def forward(self, xs):
        top = []
        queue = deque([Open(into=top, depth=0, h=torch.zeros(4))])
        states = []
        for x in xs:
            if not queue:
                break
            item = queue.popleft()
            h = torch.tanh(self.lin(item.h) + self.emb.weight[x])
            states.append(h)
            if x % 3 == 0 and item.depth > 0:
                item.into.append(f"word {x}")
            else:
                node = Node(f"node {x}", children=[])
                item.into.append(node)
                queue.append(Open(item.depth + 1, node.children, h))
                queue.append(Open(depth=item.depth + 1, into=node.children, h=-h))
        return top, torch.stack(states)


class TakenApart(Base):
    def forward(self, xs):
        top = []
        stack = [Named(top, 0)]
        for x in xs:
            into, depth = stack.pop()
            node = Node(str(x), [])
            into.append(node)
            stack.append(Named(into, depth + 1))
            if x > 4:
                stack.append(Named(node.children, depth + 1))
        return top, stack[-1].depth


class OfAnOrdinaryClass(Base):
    def forward(self, xs):
        top = []
        stack = [Plain(0, top)]
        for x in xs:
            item = stack[-1] if x % 2 else stack.pop()
            node = Node(str(x), [])
            item.out.append(node)
            stack.append(Plain(item.rule + 1, node.children))
        return top[0], len(stack)


class OneOfTwo(Base):
    def forward(self, xs):
        entries = {"odd": Named([], 0), "even": Named([], 1)}
        seen = []
        for x in xs:
            entry = entries["odd"] if x % 2 else entries["even"]
            entry.into.append(x)
            seen.append(entry.into)
        return [sum(each) for each in seen], entries["odd"].into


class InAnAttribute(Base):
    """The entry has the node, and the node has the list."""

    def forward(self, xs):
        top = Node("top", [])
        stack = [Open(0, top, self.emb.weight[0])]
        for x in xs:
            item = stack.pop()
            node = Node(str(x), [])
            item.into.children.append(node)
            stack.append(Open(item.depth, item.into, item.h))
            if x % 2:
                stack.append(Open(item.depth + 1, node, item.h + 1))
        return top, stack[-1].h


class InTwoLists(Base):
    """A node in two lists is two equal ones in the result."""

    def forward(self, xs):
        top = Node("top", [])
        pair = [Named(top.children, 0), Named([], 0)]
        for x in xs[:5]:
            node = Node(str(x), [])
            pair[0].into.append(node)
            pair[1].into.append(node)
            pair = [pair[1], Named(node.children, 0)]
        return top


class LongerThanTheLists(Base):
    """The way from object to object is longer than there are shared lists."""

    def forward(self, xs):
        last, bag = None, []
        for x in [*xs, *xs]:
            last = Step(x, bag, last)
            if x % 2:
                bag = []
            bag.append(x)
        return last


MODELS = [WordsAndNodes, TakenApart, OfAnOrdinaryClass, OneOfTwo, InAnAttribute, InTwoLists, LongerThanTheLists]


@pytest.mark.parametrize("model", MODELS)
def test_as_in_python(model):
    agrees(model(), LISTS)


@pytest.mark.parametrize("model", [WordsAndNodes, LongerThanTheLists])
def test_natively(model, codegen: str, tmp_path: Path):
    agrees_natively(model(), LISTS, codegen, tmp_path)


class Deep(Base):
    def forward(self, n):
        top = []
        item = Named(top, 0)
        for i in range(n):
            node = Linked(str(i), [])
            item.into.append(node)
            item = Named(node.children, i)
        return top[0]


def test_a_tree_as_deep_as_it_has_nodes():
    agrees(Deep(), [1, 2, 60])


class InItself(Base):
    def forward(self, xs):
        node = Node("top", [])
        below = node.children
        for x in xs:
            below.append(node if x == 9 else Node(str(x), []))
        return node


def test_a_node_that_is_below_itself():
    program = agrees(InItself(), LISTS)
    with pytest.raises(InstanceError, match="the result has an object in it that leads back to itself"):
        Interpreter(program).run([1, 9])
