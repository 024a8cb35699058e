"""Objects that keep the model, a module or a function in an attribute; methods found by the name of a value's class."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively


class Keeper:
    def __init__(self, model: Any, act: Any) -> None:
        self.model = model
        self.act = act
        self.count = 0

    def leaf(self, i: int) -> Tensor:
        self.count += 1
        return self.act(self.model.embedding(torch.tensor(i)))


@dataclasses.dataclass
class Settings:
    cell: nn.Module
    squash: Callable[[Tensor], Tensor]
    depth: int = 0


@dataclasses.dataclass
class Number:
    value: int


@dataclasses.dataclass
class Sum:
    left: Any
    right: Any


class Stack:
    def __init__(self, cell: Any) -> None:
        self.cell = cell
        self.state = torch.zeros(4)
        self.items: list[Tensor] = []

    def push(self, x: Tensor) -> None:
        self.state = self.cell(x, self.state)
        self.items.append(x)


class ByClass:
    def __init__(self, model: Any) -> None:
        self.model = model

    def visit(self, x: Any) -> Tensor:
        return getattr(self, "visit_" + type(x).__name__.lower(), self.other)(x)

    def visit_number(self, x: Number) -> Tensor:
        return self.model.embedding(torch.tensor(x.value))

    def visit_int(self, x: int) -> Tensor:
        return self.model.embedding(torch.tensor(x)) * 2

    def visit_sum(self, x: Sum) -> Tensor:
        return self.model.linear(self.visit(x.left)) + self.visit(x.right)

    def other(self, x: Any) -> Tensor:
        return self.model.embedding.weight[0]


class Counting:
    def __init__(self) -> None:
        self.n = 0

    def get_int(self, x: int) -> int:
        return self.n + x

    def get_str(self, x: str) -> int:
        return self.n + 100

    def more(self) -> None:
        self.n += 1


class Part(nn.Module):
    """A part of the model that makes objects which keep what it has itself: a module, and a method of one."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(4, 4)

    def forward(self, xs: Any, act: Any) -> Tensor:
        keeper, settings = Keeper(self, act), Settings(self.embedding.forward, act)  # type: ignore[arg-type]
        return keeper.leaf(xs[0]) + settings.cell(torch.tensor(xs[-1]))


class Model(nn.Module):
    def __init__(self, work: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(4, 4)
        self.linear = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.cells = nn.ModuleList([nn.GRUCell(4, 4), nn.GRUCell(4, 4)])
        self.parts = nn.ModuleList([Part(), Part()])
        self.forward = work.__get__(self)


def kept_model(self: Any, xs: Any) -> Any:
    keeper = Keeper(self, torch.tanh)
    h = sum(keeper.leaf(i) for i in xs)
    return self.linear(h), keeper.count


def in_dataclass(self: Any, xs: Any) -> Any:
    def fold(settings: Any, i: int) -> Any:
        if i == len(xs):
            return settings.cell(self.embedding.weight[0]), settings.depth
        h, depth = fold(dataclasses.replace(settings, depth=settings.depth + 1), i + 1)
        return settings.squash(h) + settings.cell(self.embedding.weight[xs[i]]), depth

    return fold(Settings(self.linear, torch.relu), 0)


def by_class(self: Any, x: Any) -> Any:
    return ByClass(self).visit(x)


def named_method(self: Any, xs: Any) -> Any:
    visitor, out = ByClass(self), []
    for x in xs:
        method = getattr(visitor, f"visit_{type(x).__name__.lower()}", None)
        out.append(visitor.other(x) if method is None else method(x))
    return out


def names_of_classes(self: Any, xs: Any) -> Any:
    return [1 if type(x).__name__ == "Number" else 2 if type(x).__name__ == "Sum" else 0 for x in xs]


def sometimes_none(self: Any, xs: Any) -> Any:
    settings = [Settings(self.linear, torch.tanh), Settings(None, torch.tanh)]  # type: ignore[arg-type]
    return len([s for s in settings if s.cell is not None])


LISTS = [[1, 2], [0], [3, 3, 1]]
TREES = [Number(1), Sum(Number(1), Sum(Number(0), 2)), Sum(Number(1), "a"), Sum(1, Number(3))]
MIXED = [[Number(1), 3, Number(2)], ["a", Sum(1, 2)], []]


@pytest.mark.parametrize(
    ("work", "sample"),
    [
        (kept_model, LISTS),
        (in_dataclass, LISTS),
        (sometimes_none, LISTS),
        (by_class, TREES),
        (named_method, MIXED[:1]),
        (names_of_classes, MIXED),
    ],
)
def test_is_as_in_python(work: Any, sample: Any) -> None:
    agrees(Model(work), sample)


def different_ones(self: Any, xs: Any) -> Any:
    smooth, sharp = Keeper(self, torch.tanh), Keeper(self, torch.relu)
    chosen = smooth if xs[0] > 1 else sharp
    h = smooth.leaf(xs[0]) + sharp.leaf(xs[0]) + chosen.act(self.embedding.weight[1])
    for keeper in [smooth, sharp, smooth]:
        h = keeper.act(h) + keeper.count
    again = dataclasses.replace(Settings(self.linear, torch.tanh), depth=len(xs))
    other = Settings(self.second, torch.tanh, 2)
    return h, smooth.count, again.cell(h) * other.depth, other.cell(h)


def stacks_of_their_own(self: Any, xs: Any) -> Any:
    stack, buffer = Stack(self.cells[0]), Stack(self.cells[1])
    for x in xs:
        buffer.push(self.embedding(torch.tensor(x)))
    while buffer.items:
        stack.push(buffer.items.pop() * 2)
    return stack.state, buffer.state, len(stack.items)


def made_by_a_function(self: Any, xs: Any) -> Any:
    """The module that an object keeps is an argument where the object is made."""

    def stack_of(cell: Any, x: int) -> Any:
        stack = Stack(cell)
        stack.push(self.embedding(torch.tensor(x)))
        return stack

    stacks = [stack_of(self.cells[0], xs[0]), stack_of(self.cells[1], xs[0]), stack_of(self.cells[0], xs[-1])]
    for stack in stacks:
        stack.push(self.embedding.weight[2])
    return [stack.state for stack in stacks]


def made_by_a_part(self: Any, xs: Any) -> Any:
    return [self.parts[0](xs, torch.tanh), self.parts[1](xs, torch.relu), self.parts[0](xs[:1], torch.tanh)]


DIFFERENT = [different_ones, stacks_of_their_own, made_by_a_function, made_by_a_part]


@pytest.mark.parametrize("work", DIFFERENT)
def test_different_ones_natively(work: Any, codegen: str, tmp_path: Path) -> None:
    agrees_natively(Model(work), LISTS, codegen, tmp_path)


@pytest.mark.parametrize("work", DIFFERENT)
def test_different_ones(work: Any) -> None:
    agrees(Model(work), LISTS)


def different_ones_in_the_result(self: Any, xs: Any) -> Any:
    return [Keeper(self, torch.tanh), Keeper(self, torch.relu)][:1]


def in_the_result(self: Any, xs: Any) -> Any:
    return [Keeper(self, torch.tanh)]


def changed_since(self: Any, xs: Any) -> Any:
    counting, out = Counting(), []
    for x in xs:
        method = getattr(counting, "get_" + type(x).__name__)
        counting.more()
        out.append(method(x))
    return out


def one_of_changed_since(self: Any, xs: Any) -> Any:
    counting = Counting()
    methods = (counting.get_int, counting.get_str)
    counting.more()
    return methods[0](xs[0])


@pytest.mark.parametrize(
    ("work", "sample", "message"),
    [
        (in_the_result, LISTS, "a `Keeper` of the result has a module or a function in `model`"),
        (different_ones_in_the_result, LISTS, "a `Keeper` of the result has a module or a function in `act`"),
        (changed_since, [[1, "a"]], "may have been changed after the method was named"),
        (one_of_changed_since, LISTS, "may have been changed after the method was named"),
    ],
)
def test_is_refused(work: Any, sample: Any, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        build(Model(work), sample=sample)
