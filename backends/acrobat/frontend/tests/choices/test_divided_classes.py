"""Classes whose objects have values of other types in their attributes where they are made in other places, or with other
modules or sizes."""

# mypy: ignore-errors
from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.instances.divided import Division, original
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, as_tensors, assert_same, with_forward

GIVEN = [[1, 2], [0], [3, 3, 1], [2, 2, 2, 2]]


KNOWN = []


class Stack:
    kind = "stack"

    def __init__(self):
        self.items = []

    def push(self, x):
        self.items.append(x)

    def pop(self):
        return self.items.pop()

    def __len__(self):
        return len(self.items)

    @classmethod
    def of(cls, x):
        made = cls()
        made.push(x)
        return made


class Named(Stack):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def push(self, x):
        super().push(x)


class Memory:
    def __init__(self, size, rows=2):
        self.size = size
        self.state = torch.zeros(rows, size)

    def write(self, x):
        self.state = self.state + x
        return self.state.sum(0)


class Cell:
    def __init__(self, cell):
        self.cell, self.h = cell, torch.zeros(cell.hidden_size)

    def step(self, x):
        self.h = self.cell(x, self.h)
        return self.h


class Both:
    def __init__(self, model):
        self.ints, self.tensors, self.model = Stack(), Stack(), model

    def push(self, x):
        self.ints.push(x)
        self.tensors.push(self.model.embedding.weight[x])


class Registered:
    """Subclasses of this one would be noted."""

    def __init_subclass__(cls):
        KNOWN.append(cls)

    def __init__(self):
        self.items = []


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(5, 4)
        self.small, self.large = nn.GRUCell(4, 4), nn.GRUCell(4, 6)
        self.cells = nn.ModuleList([nn.GRUCell(4, 6), nn.GRUCell(6, 3)])


def ints_and_tensors(self, xs):
    a, b = Stack(), Stack()
    for x in xs:
        a.push(x)
        b.push(self.embedding.weight[x])
    total = 0
    while len(a):
        total = total * 2 + a.pop()
    return total, b.pop(), a.kind, type(a) is Stack, type(a) is type(b), isinstance(b, Stack)


def with_a_base(self, xs):
    a, b = Named("a"), Named("b")
    for x in xs:
        a.push(x)
        b.push(self.embedding.weight[x])
    return len(a), b.pop(), a.name + b.name


def sizes(self, xs):
    a, b = (Memory(n) for n in (4, 6))
    for x in xs:
        b.write(self.large(a.write(self.embedding.weight[x])))
    return a.state, b.state, a.size + b.size


def cells(self, xs):
    def made(cell):
        return Cell(cell)

    all = [made(cell) for cell in self.cells]
    for x in xs:
        h = self.embedding.weight[x]
        for cell in all:
            h = cell.step(h)
    return h


def joined_again(self, xs):
    """Three places; the objects of two of them are met in one place."""
    a = Cell(self.small)
    for x in xs:
        if x > 2:
            a = Cell(self.small)
        a.step(self.embedding.weight[x])
    b = Cell(self.large)
    return a.h, b.step(a.h)


def copied(self, xs):
    a, b = Stack(), Stack.of("word")
    for x in xs:
        a.push(x)
    c = copy.deepcopy(a)
    c.push(1)
    return len(a), len(c), len(b), b.pop()


def in_attributes(self, xs):
    both = Both(self)
    for x in xs:
        both.push(x)
    return len(both.ints), both.tensors.pop(), both.ints.pop()


def given_to_one_function(self, xs):
    def fill(stack, work):
        for x in xs:
            stack.push(work(x))

    a, b = Stack(), Stack()
    fill(a, lambda x: x + 1)
    fill(b, lambda x: self.embedding.weight[x] * 2)
    return a.pop(), b.pop()


WORK = [ints_and_tensors, with_a_base, sizes, cells, joined_again, copied, in_attributes, given_to_one_function]


@pytest.mark.parametrize("forward", WORK)
def test_as_in_python(forward):
    agrees(with_forward(Model(), forward), GIVEN)


def test_in_generated_code(codegen, tmp_path):
    agrees_natively(with_forward(Model(), cells), GIVEN, codegen, tmp_path)


def test_results_are_of_the_class_itself():
    def forward(self, xs):
        a, b = Memory(4), Memory(6)
        b.write(self.large(a.write(self.embedding.weight[xs[0]])))
        return a, b

    model = with_forward(Model(), forward)
    run = Interpreter(build(model, sample=GIVEN)).run
    for found, right in zip(run(GIVEN[0]), model(GIVEN[0]), strict=True):
        assert type(found) is Memory
        assert_same(as_tensors(found.state), right.state, "state")


def one_place(self, xs):
    def made():
        return Stack()

    a, b = made(), made()
    a.push(xs[0])
    b.push(self.embedding.weight[0])
    return a.pop(), b.pop()


def subclasses_are_seen(self, xs):
    a, b = Registered(), Registered()
    a.items.append(xs[0])
    b.items.append(self.embedding.weight[0])
    return a.items.pop(), b.items.pop()


def lists_beside_tensors(self, xs):
    def made():
        return Stack()

    a, b = made(), made()
    a.push([xs[0]])
    b.push(self.embedding.weight[0])
    return a.pop(), b.pop()


def met_in_one_place(self, xs):
    a, b = Stack(), Stack()
    for x in xs:
        a.push(x)
        b.push(self.embedding.weight[x])
    return [len(stack) for stack in [a, b] * len(xs)]


@pytest.mark.parametrize("forward", [one_place, subclasses_are_seen, met_in_one_place])
def test_of_one_version_values_keep_their_types(forward):
    agrees(with_forward(Model(), forward), GIVEN)


def test_is_refused_as_if_nothing_had_been_tried():
    with pytest.raises(CompileError, match=r"holds lists of ints, this appends a tensor|a list has elements of one type"):
        build(with_forward(Model(), lists_beside_tensors), sample=GIVEN)
    assert not KNOWN


def test_versions_that_are_joined_are_one():
    division = Division()
    division.divide([])
    assert division.version(Stack, ("one", ())) is Stack
    division._classes.add(Stack)
    one, other, third = (division.version(Stack, (name, ())) for name in ("one", "other", "third"))
    assert len({one, other, third}) == 3
    assert all(original(x) is Stack for x in (one, other, third))
    assert division.join([((one,), (other, Memory))])
    assert division.version(Stack, ("one", ())) is division.version(Stack, ("other", ())) is one
    assert division.version(Stack, ("third", ())) is third
    assert not division.join([((one,), (Memory,))])
    assert division.join([((third,), (Stack,))])
    assert division.version(Stack, ("third", ())) is Stack
