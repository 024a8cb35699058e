"""Parts of tuples between bounds of run time, and tuples of one length in fields of the instance's classes."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3]]
LETTERS = ["a", "b", "c", "d"]
VALUES = (1.5, 2.5, 3.5)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(10, 4)


class Board:
    """A position that is never changed: a move makes another one."""

    def __init__(self, cells=(0, 0, 0), player=1):
        self.cells = cells
        self.player = player

    def play(self, c):
        return Board(self.cells[:c] + (self.player,) + self.cells[c + 1 :], -self.player)  # noqa: RUF005


class Columns:
    def __init__(self, columns=((), (), ()), player=1):
        self.columns = columns
        self.player = player

    def play(self, c):
        columns = list(self.columns)
        columns[c] = columns[c] + (self.player,)
        return Columns(tuple(columns), -self.player)


def constants(self, numbers):
    n = len(numbers)
    return LETTERS[:n], VALUES[n - 1 :], list(LETTERS[1:n]), sum(VALUES[:n]), len(VALUES[n:])


def of_the_function(self, numbers):
    t = (numbers[0], len(numbers), 7)
    k = numbers[-1] % 3
    return t[:k] + t[k + 1 :], sum(t[k:]), t[::-1]


def tensors(self, numbers):
    rows = (self.emb.weight[1], self.emb.weight[2], self.emb.weight[3])
    k = len(numbers) % 3 + 1
    return torch.stack(rows[:k]).sum(0), sum(rows[:k]), len(rows[k:])


def board(self, numbers):
    b = Board()
    for n in numbers:
        b = b.play(n % 3)
    return b.cells


@pytest.mark.parametrize("function", [constants, of_the_function, tensors, board])
def test_as_eager(function) -> None:
    agrees(with_forward(Model(), function), NUMBERS)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Model(), board), NUMBERS, codegen, tmp_path)


def after(self, instance):
    columns, moves = instance
    for move in moves:
        columns = columns.play(move)
    return [len(c) for c in columns.columns], columns.player


def test_a_field_with_tuples_of_one_length() -> None:
    agrees(with_forward(Model(), after), [(Columns(((1,), (1,), (-1, 1))), [0, 2]), (Columns(), []), (Columns(), [1, 1, 1])])


def test_a_tuple_of_another_length_in_it() -> None:
    def shorter(self, instance):
        columns, n = instance
        return len(Columns(tuple(list(columns.columns)[:n]), 1).columns)

    program = build(with_forward(Model(), shorter), sample=[(Columns(), 3)])
    assert Interpreter(program).run((Columns(), 3)) == 3
    with pytest.raises(InstanceError, match="out of range"):
        Interpreter(program).run((Columns(), 2))
