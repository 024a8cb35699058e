"""Modules and functions that are looked up by a name which a test around has compared with constants: they are those alone.
Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees


@dataclass
class Node:
    op: str
    args: list = field(default_factory=list)


X, Y = Node("x"), Node("y")
TREES = [X, Node("neg", [Y]), Node("pair", [X, Node("neg", [Y])]), Node("sum", [X, Y, Node("pair", [Y, Y])]), Node("sum")]


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(4, 3)
        self.work = nn.ModuleDict({"neg": nn.Linear(3, 3), "pair": nn.Bilinear(3, 3, 3), "score": nn.Linear(3, 3)})
        self.sums = {"sum": lambda xs: sum(xs, torch.zeros(3)), "first": lambda x: x}
        self.unary = ("neg", "score")

    def forward(self, tree):
        return self.run(tree)


class ByField(Base):
    """Modules that take one, two or no arguments."""

    def run(self, node):
        args = [self.run(a) for a in node.args]
        if node.op == "neg":
            return self.work[node.op](args[0])
        if node.op == "pair" and len(args) == 2:
            return self.work[node.op](args[0], args[1])
        if node.op not in ("sum", "first"):
            return self.embed.weight[0 if node.op == "x" else 1]
        return self.sums["sum"](args)


class ByName(Base):
    def run(self, node):
        name, args = node.op, [self.run(a) for a in node.args]
        if not args:
            return self.embed.weight[len(name)]
        if name == "pair":
            return self.work[name](args[0], args[1])
        if name == "neg" or name == "score":
            return self.work[name](args[0])
        return self.sums[name](args) if name == "sum" else args[0]


class Rebound(Base):
    """What a test has said of a name does not hold any more where the name has another value."""

    def run(self, node):
        name, out = node.op, self.embed.weight[0]
        if name == "neg":
            out = self.work[name](out)
            if len(node.args) == 1:
                name = "score"
            out = self.work[name](out) if name != "pair" else out
        return out.sum()


class ByLoop(Base):
    def run(self, node):
        out, name = self.embed.weight[0], node.op
        while name == "pair":
            for _ in node.args:
                if name == "pair":
                    name = "neg"
                out = self.work[name](out)
            name = node.args[0].op if node.args else "x"
        return out, name


class InNested(Base):
    def run(self, node):
        name = node.op

        def change():
            nonlocal name
            name = "score"

        out = self.embed.weight[1]
        if name in self.unary:
            change()
            out = self.work[name](out)
        return out.sum(), name


class OfTheModel(Base):
    """An attribute of the model that methods assign to."""

    def change(self):
        self.mode = "score"

    def run(self, node):
        self.mode = node.op
        out = self.embed.weight[1]
        if self.mode == "neg":
            self.change()
            out = self.work[self.mode](out)
        return out, self.mode


@pytest.mark.parametrize("model", [ByField, ByName, Rebound, ByLoop, InNested, OfTheModel])
def test_as_in_python(model):
    agrees(model(), TREES)
