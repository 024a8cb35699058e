"""Objects that are made without their `__init__`, by `object.__new__`, and get their attributes one by one."""

# mypy: ignore-errors
from __future__ import annotations

from dataclasses import dataclass

import pytest
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.tests.zoo.check import agrees, with_forward

NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2]]


class Board:
    def __init__(self, n):
        self.cells = [0] * n
        self.turn = 1

    def copy(self):
        other = Board.__new__(Board)
        other.cells = list(self.cells)
        other.turn = self.turn
        return other

    def played(self, i):
        other = self.copy()
        other.cells[i] = other.turn
        other.turn = -other.turn
        return other


class Sums:
    def __init__(self):
        self.numbers, self.total = [], 0

    @classmethod
    def of(cls, numbers):
        made = object.__new__(cls)
        made.numbers = numbers
        made.total = sum(numbers)
        return made


@dataclass
class Pair:
    one: int
    other: list


def copied(self, numbers):
    board = Board(8)
    for n in numbers:
        board = board.played(n)
    return board.cells, board.turn


def by_class_method(self, numbers):
    return Sums.of(numbers).total, Sums().total, len(Sums.of(numbers[1:]).numbers)


def of_dataclass(self, numbers):
    pair = object.__new__(Pair)
    pair.one = len(numbers)
    pair.other = numbers
    return pair


@pytest.mark.parametrize("forward", [copied, by_class_method, of_dataclass])
def test_as_in_python(forward):
    agrees(with_forward(nn.Module(), forward), NUMBERS)


def of_instance(self, given):
    board, numbers = given
    other = board.copy()
    for n in numbers:
        other.cells[n % 4] += 1
    return other.cells, board.cells, other.turn


def test_copies_of_the_instance():
    agrees(with_forward(nn.Module(), of_instance), [(Board(4), NUMBERS[0]), (Board(5), NUMBERS[1]), (Board(6), NUMBERS[2])])


def without_attributes(self, numbers):
    made = object.__new__(Sums)
    return made.total


def of_python(self, numbers):
    made = object.__new__(list)
    made.total = 3
    return made.total


@pytest.mark.parametrize("forward", [without_attributes, of_python])
def test_what_is_refused(forward):
    with pytest.raises(CompileError):
        agrees(with_forward(nn.Module(), forward), NUMBERS)
