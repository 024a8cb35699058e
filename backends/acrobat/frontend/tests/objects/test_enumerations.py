"""Members of Enums in instances: as keys, by their attributes, and those of an IntEnum as ints; and named tuples as tuples."""

# mypy: ignore-errors

from __future__ import annotations

from collections import Counter, namedtuple
from dataclasses import dataclass
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Op(Enum):
    MUL = 2
    ADD = 1

    @property
    def sign(self):
        return 1 if self is Op.ADD else -1


class Action(Enum):
    """Members with attributes and methods."""

    SHIFT = ("s", 0)
    LEFT = ("l", 2)

    def __init__(self, letter, arity):
        self.letter = letter
        self.arity = arity

    @property
    def binary(self):
        return self.arity == 2

    def describe(self, times=1):
        return f"{self.name.lower()}{times}" * times

    def apply(self, model, h):
        return model.layers[0](h) if self is Action.SHIFT else torch.tanh(h)


ACTIONS = list(Action)


class Level(IntEnum):
    HIGH = 2
    LOW = 0
    MIDDLE = 1


@dataclass
class Node:
    op: Op
    level: Level


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(3, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.table = {Op.ADD: nn.Linear(4, 4), Op.MUL: nn.Linear(4, 4)}
        self.by_name = nn.ModuleDict({op.name: cell for op, cell in self.table.items()})


def by_member(self, node):
    x = self.embed.weight[0]
    return self.table[node.op](x) * node.op.sign, self.by_name[node.op.name](x) * node.op.value


def as_ints(self, node):
    level = node.level
    x = self.layers[level](self.embed(torch.tensor(level)))
    tests = [level < 2, level == Level.LOW, level is Level.HIGH, level in (Level.LOW, Level.HIGH)]
    return x * level, level + 1, tests, {Level.LOW: 3, Level.HIGH: 4, Level.MIDDLE: 5}[level], [10, 20, 30][level]


def named_levels(self, node):
    return node.level.name, node.level.value, Level(2 - node.level).name


def counted_members(self, node):
    counts = Counter([node.op, Op.ADD]) + Counter([Op.ADD])
    return counts[Op.ADD], counts[node.op], node.op


State = namedtuple("State", "h count")


def methods_of_members(self, node):
    h, actions = self.embed.weight[0], [ACTIONS[min(x, 1)] for x in range(node.level + 1)]
    for action in actions:
        h = action.apply(self, h) + action.arity
    return h, [a.letter for a in actions], [a.describe(2) for a in actions], [a.binary for a in actions]


def named_tuple(self, node):
    state = State(self.embed.weight[node.level], 1)
    h, count = state
    return state[0] + h, state[-1], list(state[1:]), (*state, count), state


def one(op: Op, otherwise: Level) -> list[Op]:
    found: list[Op] = []
    if otherwise > 0:
        found.append(op)
    return found


def annotated(self, node):
    return len(one(node.op, node.level)), [op is node.op for op in one(node.op, node.level)]


NODES = [Node(op, level) for op in Op for level in Level]
FUNCTIONS = [annotated, by_member, as_ints, named_levels, counted_members, methods_of_members, named_tuple]


def of(function: Any) -> nn.Module:
    return with_forward(Model(), function)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_interpreter(function: Any) -> None:
    agrees(of(function), NODES)


def everything(self, node):
    return by_member(self, node), as_ints(self, node), named_levels(self, node)


def test_generated_code(codegen: Any, tmp_path: Path) -> None:
    agrees_natively(of(everything), NODES, codegen, tmp_path)


def a_string_as_an_index(self, node):
    return self.layers[node.op](self.embed.weight[0])


def test_a_string_is_no_index_of_modules() -> None:
    with pytest.raises(CompileError, match="the index of a ModuleList is an int, not a string"):
        build(of(a_string_as_an_index), sample=NODES)
