"""Modules and functions that are looked up by a name which a test around has compared with constants: they are those alone.
Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively


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


class ChosenBefore(Base):
    """A module that was chosen before the test is one of those alone, too, and by what tests exclude none of the others."""

    def __init__(self):
        super().__init__()
        self.work = nn.ModuleDict({**self.work, "x": nn.Linear(3, 2), "y": nn.Linear(3, 2), "sum": nn.Linear(3, 3)})

    def run(self, node):
        name, args = node.op, [self.run(a) for a in node.args]
        module, at = self.work[name], self.embed.weight[len(args)]
        if name == "pair":
            return module(args[0], args[1])
        if name in ("neg", "score"):
            return module(args[0]) + module(at)
        if not (name == "sum" or name == "mean"):
            return torch.cat([module(at), at[:1]])
        return module(sum(args, torch.zeros(3)))


class ChosenThenReplaced(Base):
    """A lambda sees the module as it is outside of the test."""

    def __init__(self):
        super().__init__()
        self.work = nn.ModuleDict({name: nn.Linear(3, 3) for name in ("x", "y", "neg", "pair", "sum")})

    def run(self, node):
        name = node.op
        module, other = self.work[name], self.embed.weight[0]
        call = lambda x: module(x)  # noqa: E731
        if name != "pair":
            other = call(other) + module(other)
            if name == "neg":
                module = self.work["sum"]
                other = module(self.embed.weight[1]) + other
            name = "score"
        return other, name


MODELS = [ByField, ByName, Rebound, ByLoop, InNested, OfTheModel, ChosenBefore, ChosenThenReplaced]


@pytest.mark.parametrize("model", MODELS)
def test_as_in_python(model):
    agrees(model(), TREES)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_natively(codegen, tmp_path):
    agrees_natively(ChosenBefore().eval(), TREES, codegen, tmp_path)


class Reducer(nn.Module):
    width = 2

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x, at):
        return self.layer(x) * at


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return torch.tanh(self.layer(x))


class ByClass(nn.Module):
    """A module that is chosen by a number is one of those of a class where a test says so."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.blocks = nn.ModuleList([Reducer(), Translator(), Reducer(), Translator(), nn.Identity()])

    def forward(self, choices):
        x, translated, left = torch.ones(3), 0, 0
        for choice in choices:
            block = self.blocks[choice]
            if isinstance(block, Reducer):
                x = block(x, block.width + choice)
                left += block.width
            elif not isinstance(block, (Translator, Reducer)):
                x = block(x) + 1.0
            else:
                translated += 1
                x = block(x)
            if isinstance(block, Translator) and choice > 1:
                x = block(x)
                block = self.blocks[0]
                x = block(x, translated)
        return x, translated, left


@pytest.mark.parametrize("codegen", ["interpreter", "aot", "vm"])
def test_tests_of_classes(codegen, tmp_path):
    choices = [[0, 1, 2], [3, 4, 1], [], [2, 0], [4, 3, 3]]
    if codegen == "interpreter":
        agrees(ByClass(), choices)
    else:
        agrees_natively(ByClass().eval(), choices, codegen, tmp_path)


class ChosenByMixed(ChosenBefore):
    """Of a string or a tuple a comparison with a string tells that it is the string."""

    def run(self, tree):
        op, *args = tree
        module = self.work[op]
        if op == "pair":
            return module(self.run(args[0]), self.run(args[1]))
        if op == "score":
            return module(self.embed.weight[len(args[0])])
        if op in ("x", "y"):
            return torch.cat([module(self.embed.weight[0]), torch.ones(1)])
        return module(sum([self.run(a) for a in args], self.embed.weight[0]))


def test_a_string_beside_tuples():
    x, y = ("x",), ("y",)
    agrees(ChosenByMixed(), [x, ("neg", y), ("score", "red"), ("pair", x, ("neg", y)), ("sum", x, y, ("pair", y, y)), ("sum",)])


class ByAttribute(ChosenByMixed):
    """`getattr` with a name that may be a string or a tuple, where a test says which strings it may be."""

    def __init__(self):
        super().__init__()
        self.neg, self.score, self.pair = self.work["neg"], self.work["sum"], self.work["pair"]

    def run(self, tree):
        op, *args = tree
        at = self.embed.weight[len(args)]
        if op in ("neg", "score"):
            return getattr(self, op)(at) + at
        if op == "pair":
            return getattr(self, op)(self.run(args[0]), self.run(args[1]))
        return at + (1.0 if op == "sum" else 0.0)


@pytest.mark.parametrize("codegen", ["interpreter", "aot", "vm"])
def test_attributes(codegen, tmp_path):
    x, y = ("x",), ("y",)
    trees = [x, ("neg", y), ("score", "red"), ("pair", x, ("neg", y)), ("sum", x, y, ("pair", y, y)), ("sum",)]
    if codegen == "interpreter":
        agrees(ByAttribute(), trees)
    else:
        agrees_natively(ByAttribute().eval(), trees, codegen, tmp_path)


class Op(Enum):
    X, NEG, PAIR, SUM = auto(), auto(), auto(), auto()


PAIRS, SUMS = {Op.PAIR}, Op.SUM
LEAF = Node(Op.X)
WITH_MEMBERS = [
    LEAF,
    Node(Op.NEG, [LEAF]),
    Node(Op.PAIR, [LEAF, Node(Op.NEG, [LEAF])]),
    Node(Op.SUM, [LEAF, LEAF, Node(Op.PAIR, [LEAF, LEAF])]),
    Node(Op.SUM),
]


class ByMember(nn.Module):
    """What is looked up by a member of an Enum, or by its name, is one of those alone of which a test tells, as by strings."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(4, 3)
        one, two, both, six = nn.Linear(3, 2), nn.Linear(3, 3), nn.Bilinear(3, 3, 3), nn.Linear(6, 3)
        self.work = nn.ModuleDict({"X": one, "NEG": two, "PAIR": both, "SUM": six})
        self.NEG = nn.Linear(3, 3)

    def forward(self, tree):
        op, name, at = tree.op, tree.op.name, self.embed.weight[len(tree.args)]
        return self.before(op, at), self.in_arms(tree, at), self.in_cases(op, name, at), self.of_functions(op, at)

    def before(self, op, at):
        module = self.work[op.name]
        if op is Op.PAIR:
            return module(at, at)
        if op in (Op.X,):
            return torch.cat([module(at), at[:1]])
        if op is not Op.NEG:
            return module(torch.cat([at, at]))
        return module(at)

    def in_arms(self, node, at):
        if node.op in PAIRS:
            return self.work[node.op.name](at, at)
        if node.op == SUMS:
            return self.work[node.op.name](torch.cat([at, at]))
        return getattr(self, node.op.name)(at) if node.op is Op.NEG else at

    def in_cases(self, op, name, at):
        module = self.work[op.name]
        match op:
            case Op.PAIR:
                at = module(at, at)
            case Op.SUM:
                at = module(torch.cat([at, at]))
        match name:
            case "NEG":
                return self.work[name](at)
            case "PAIR":
                return self.work[name](at, at)
        return at

    def of_functions(self, op, at):
        table = {Op.X: lambda x: x, Op.NEG: self.work["NEG"], Op.PAIR: self.work["PAIR"], Op.SUM: lambda *xs: sum(xs)}
        work = table[op]
        if op is Op.PAIR:
            return work(at, at)
        if op == Op.SUM:
            return work(at, at, at)
        again = Op.NEG if op is Op.X else Op.X
        op = again  # what was chosen by the member from before stays
        return work(at) + 1.0 if op is Op.NEG else table[op](at)


@pytest.mark.parametrize("codegen", ["interpreter", "aot", "vm"])
def test_members_of_enums(codegen, tmp_path):
    if codegen == "interpreter":
        agrees(ByMember(), WITH_MEMBERS)
    else:
        agrees_natively(ByMember().eval(), WITH_MEMBERS, codegen, tmp_path)
