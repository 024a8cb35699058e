# mypy: ignore-errors
"""`functools.singledispatch` and `singledispatchmethod`: the implementation is that of the class of an argument."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import singledispatch, singledispatchmethod

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, ModuleChanged
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees


@dataclass
class Leaf:
    value: float


@dataclass
class Node:
    left: object
    right: object


class Scaled(Node):
    """Is most derived: its own implementation, where there is one, comes before that of its base."""


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(4, 4), nn.Linear(8, 4)
        self.names = nn.ParameterDict({x: nn.Parameter(torch.randn(4)) for x in "xy"})


class Methods(Base):
    @singledispatchmethod
    def encode(self, node, depth=1.0):
        raise TypeError(f"no rule for {type(node).__name__}")

    @encode.register(Node)
    def _(self, node, depth=1.0):
        return torch.tanh(self.b(torch.cat([self.encode(node.left, depth + 1), self.encode(node.right, depth + 1)])))

    @encode.register
    def _(self, node: Scaled, depth=1.0):
        return self.encode(node.left) * depth

    @encode.register
    def _(self, leaf: Leaf, depth=1.0):
        return self.a(torch.full((4,), leaf.value))

    @encode.register(int)
    @encode.register(float)
    def _(self, number, depth=1.0):
        return self.a.bias * number

    @encode.register(str)
    def _(self, name, depth=1.0):
        return self.names[name] * depth

    def forward(self, tree):
        return self.encode(tree)


class Derived(Methods):
    """Has a method of its own under that name, of which the one of the base is a part."""

    @singledispatchmethod
    def encode(self, node, depth=1.0):
        return self.names["x"]

    @encode.register
    def _(self, node: Node, depth=1.0):
        return self.encode(node.left) - self.encode(node.right)


TREES = [Leaf(0.5), Node(Leaf(1.0), "x"), Scaled(Node("y", 2.5), "x"), Node(3, Scaled(Leaf(0.1), Leaf(2.0))), "y", 7]


@singledispatch
def flatten(node, out):
    raise NotImplementedError


@flatten.register(Leaf)
def _(node, out):
    out.append(node.value)


@flatten.register
def _(node: Node, out):
    flatten(node.left, out)
    flatten(node.right, out)


@flatten.register(str)
def _(node, out):
    out.append(-1.0)


@flatten.register(int)
@flatten.register(float)
def _(node, out):
    out.append(float(node))


class Functions(Base):
    def forward(self, tree):
        out = []
        flatten(tree, out)
        return self.a(torch.full((4,), sum(out))), len(out)


class Printer:
    """An object that the model makes, with such a method; the methods change it."""

    def __init__(self, scale):
        self.scale, self.seen = scale, []

    @singledispatchmethod
    def visit(self, node):
        self.seen.append(0.5)

    @visit.register(Leaf)
    def _(self, node):
        self.seen.append(node.value * self.scale)

    @visit.register(Node)
    def _(self, node):
        self.visit(node.left)
        self.visit(node.right)


class Objects(Base):
    def forward(self, tree):
        printer = Printer(2.0)
        printer.visit(tree)
        return self.a(torch.full((4,), sum(printer.seen))), printer.seen


class Kinds(Base):
    """Classes of Python's, of PyTorch's and None."""

    @singledispatchmethod
    def embed(self, value):
        return self.a.bias

    @embed.register(Tensor)
    def _(self, value):
        return self.a(value)

    @embed.register(type(None))
    def _(self, value):
        return self.names["x"]

    @embed.register(bool)
    def _(self, value):
        return self.names["y"] if value else -self.names["y"]

    @embed.register(int)
    def _(self, value):
        return self.names["y"] * value

    @embed.register(str)
    def _(self, value):
        return self.names[value]

    def forward(self, values):
        return self.embed(values["main"]), [self.embed(x) for x in values["items"]]


KINDS = [
    {"main": torch.ones(4), "items": [None, 3, "x"]},
    {"main": torch.arange(4.0), "items": ["y", 2.5, True, False, None]},
]


@pytest.mark.parametrize(
    ("model", "sample"),
    [(Methods, TREES), (Derived, TREES), (Functions, TREES), (Objects, TREES), (Kinds, KINDS)],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_the_implementation_is_that_of_the_class(model, sample):
    agrees(model(), sample)


class Left:
    pass


class Right:
    pass


class Both(Right, Left):
    pass


class OneOrder(Base):
    @singledispatchmethod
    def of(self, x):
        return 0

    @of.register(Left)
    def _(self, x):
        return 1

    @of.register(Right)
    def _(self, x):
        return 2

    def forward(self, x):
        return self.of(Both())


class OtherParameters(Base):
    @singledispatchmethod
    def of(self, x, by=1):
        return x * by

    @of.register(int)
    def _(self, x, by=2):
        return x * by

    def forward(self, x):
        return self.of(x)


class NoFunctions(Base):
    @singledispatchmethod
    @staticmethod
    def of(x):
        return x

    def forward(self, x):
        return self.of(x)


@pytest.mark.parametrize("model", [OneOrder, OtherParameters, NoFunctions])
def test_what_cannot_be_written_out_is_refused(model):
    with pytest.raises(CompileError, match="`of` is decorated with `singledispatchmethod`"):
        build(model(), sample=[1, 2])


@functools.singledispatch
def weight(x):
    return 1.0


class Late(Base):
    @singledispatchmethod
    def of(self, x):
        return self.a.bias

    def forward(self, x):
        return self.of(x) * weight(x)


def test_what_is_registered_later_counts():
    model = Late().eval()
    sample = [1, 2]
    executable = compile(model, sample=sample)
    assert torch.equal(executable(sample)[0], model.a.bias)
    for register in (
        lambda: weight.register(int, lambda x: 2.0),
        lambda: Late.__dict__["of"].register(int, lambda self, x: 3.0),
    ):
        register()
        with torch.no_grad():
            expected = model(1)
        with pytest.raises(ModuleChanged, match="registry"):
            executable(sample)
        executable = compile(model, sample=sample)
        assert torch.allclose(torch.as_tensor(executable(sample)[0]), torch.as_tensor(expected))
