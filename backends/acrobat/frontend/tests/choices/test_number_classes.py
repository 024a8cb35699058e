"""`isinstance` and `type` of numbers that are ints in some instances and floats in others."""

# mypy: ignore-errors

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively


@dataclass
class Instruction:
    op: str
    arg: int | float | None = None


class Plain:
    def __init__(self, arg):
        self.arg = arg


class Machine(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(10, 4)

    def forward(self, program):
        total, repeated = torch.zeros(4), 0
        for instruction in program:
            if isinstance(instruction.arg, int):
                total = total + self.emb.weight[instruction.arg]
            times = int(instruction.arg) if isinstance(instruction.arg, float) else 1
            repeated += times
            if type(instruction.arg) is float:
                total = total * instruction.arg
        return total, repeated


PROGRAMS = [
    [Instruction("push", 3), Instruction("pop", 2.5), Instruction("nop")],
    [Instruction("push", 1)],
    [Instruction("pop", 0.0), Instruction("push", 0)],
]


def test_ints_floats_and_none_of_instances() -> None:
    agrees(Machine(), PROGRAMS)


def test_ints_and_floats_of_instances() -> None:
    agrees(Machine(), [[Plain(3), Plain(2.5)], [Plain(4.0)], [Plain(0), Plain(1)]])


def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(Machine(), PROGRAMS, codegen, tmp_path)


class Chosen(nn.Module):
    def forward(self, xs):
        total = torch.zeros(2)
        for x in xs:
            value = 1 if x > 2 else 0.5
            total = total + (1 if isinstance(value, int) else 100)
            if type(value) is int:
                total = total + 1000
        return total


def test_numbers_of_the_model() -> None:
    agrees(Chosen(), [[1, 3], [3], [2, 2]])


class Floats(nn.Module):
    """A float that is never an int is known to be one."""

    def forward(self, xs):
        score = torch.tensor(xs).sum().item()
        return score if isinstance(score, float) else -1.0


def test_floats_alone() -> None:
    agrees(Floats(), [[1.5, 2.0], [0.25, 1.0]])


class OfLists(nn.Module):
    def forward(self, xs):
        total = torch.zeros(2)
        for x in xs:
            total = total + (1 if isinstance(x, int) else 100)
        return total


@dataclass
class Annotated:
    arg: float


class OfAnnotated(nn.Module):
    def forward(self, xs):
        return torch.zeros(2) + sum(1 if isinstance(x.arg, int) else 100 for x in xs)


@pytest.mark.parametrize(
    ("model", "sample"), [(OfLists(), [[1, 2.5], [3]]), (OfAnnotated(), [[Annotated(1), Annotated(2.5)], [Annotated(3)]])]
)
def test_refused_where_ints_are_floats(model, sample) -> None:
    with pytest.raises(CompileError, match="an int is a float where floats are in its place"):
        build(model, sample=sample)


class Rounding(nn.Module):
    def forward(self, xs):
        return [round(x * 0.25, 2) for x in xs], torch.ones(2) * xs[0]


def test_the_library_asks_what_a_number_is_in_the_program() -> None:
    """`round` compiles where an int of the sample stands for a float: what it rounds is a float in Python, too."""
    agrees(Rounding(), [[1, 2.5], [2.625], [-7.3, 4]])
