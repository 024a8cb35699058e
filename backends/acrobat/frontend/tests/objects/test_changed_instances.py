"""Objects of the instance that `forward` changes: it changes copies of its own, each time of the objects that it is given."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.compiler import compile
from backends.acrobat.errors import CompileError
from backends.acrobat.frontend.instances.unshared import have_one_name
from backends.acrobat.options import Options
from backends.acrobat.tests.zoo.check import assert_same


class Board:
    def __init__(self, columns, moves=()):
        self.columns = [[] for _ in range(columns)]
        self.moves = []
        for m in moves:
            self.push(m)

    def push(self, m):
        self.columns[m % len(self.columns)].append(len(self.moves) % 2)
        self.moves.append(m)

    def pop(self):
        self.columns[self.moves.pop() % len(self.columns)].pop()


class Counter:
    def __init__(self, counts):
        self.counts = counts
        self.sign = 1

    def add(self, i):
        self.counts[i % len(self.counts)] += self.sign

    def turn(self):
        self.sign = -self.sign


class Maze:
    """Its dictionary and its set are empty whenever it is given to the model."""

    def __init__(self, size):
        self.place, self.found = [0, 0], False
        self.grid = [[i * j % 3 for j in range(size)] for i in range(size)]
        self.moves, self.rows = {}, set()

    def step(self, way):
        row, column = self.place
        row = min(max(row + way, 0), len(self.grid) - 1)
        self.place = [row, column]
        self.moves[way] = self.moves.get(way, 0) + 1
        self.rows.add(row)
        self.found = self.grid[row][column] == 2
        self.grid[row][column] += 1


class Walked(nn.Module):
    def forward(self, maze, ways):
        for way in ways:
            if not maze.found:
                maze.step(way % 3 - 1)
        return maze.place, maze.moves, sorted(maze.rows), maze.grid


class Played(nn.Module):
    def forward(self, board, moves):
        for m in moves:
            board.push(m)
        return board.columns, board.moves


class Searched(nn.Module):
    def forward(self, board, moves):
        return self.best(board, moves, 2)

    def best(self, board, moves, depth):
        if depth == 0:
            return sum(len(c) for c in board.columns)
        found = 0
        for m in moves[:2]:
            board.push(m)
            found = max(found, m + self.best(board, moves, depth - 1))
            board.pop()
        return found


class Counted(nn.Module):
    def forward(self, counter, numbers):
        for n in numbers:
            counter.add(n)
            if n > 2:
                counter.turn()
        return counter.counts, counter.sign


def boards():
    return [(Board(4, [1, 2]), [3, 1]), (Board(5), [2]), (Board(3, [0]), [2, 2, 1])]


def counters():
    return [(Counter([0, 0, 5]), [3, 1, 2]), (Counter([1]), [2]), (Counter([4, 4]), [])]


def mazes():
    return [(Maze(3), [3, 1, 2]), (Maze(4), [5]), (Maze(2), [4, 4, 1, 0, 2])]


WORK = [(Played, boards), (Searched, boards), (Counted, counters), (Walked, mazes)]


@pytest.mark.parametrize(("model", "instances"), WORK)
def test_as_in_python(model, instances, codegen, tmp_path):
    executable = compile(model(), sample=instances(), checked=True, options=Options(codegen=codegen), cache_folder=tmp_path)
    given = instances()
    for _ in range(2):  # the second time with the same objects, which are as they were
        for got, instance in zip(executable(given), instances(), strict=True):
            assert_same(got, model()(*instance), "result")


class Renamed(nn.Module):
    def forward(self, counter, numbers):
        other = counter
        other.counts.append(1)
        counter.counts.append(2)
        return other.counts


class Kept(nn.Module):
    def forward(self, counter, counts):
        counter.add(0)
        return counts, counter.counts


def test_other_names(tmp_path):
    with pytest.raises(CompileError, match="may be seen under another name"):
        compile(Renamed(), sample=counters(), cache_folder=tmp_path)
    shared = [1, 2]
    with pytest.raises(CompileError, match="may be seen under another name"):
        compile(Kept(), sample=[(Counter(shared), shared), (Counter([1]), [2])], cache_folder=tmp_path)


def test_objects_with_one_name():
    shared, one = [1, 2], Counter([3])
    assert have_one_name([(Counter([1]), [1]), (Counter([2]), torch.ones(2))], [Counter])
    assert not have_one_name([(Counter([1]), [1]), (Counter(shared), shared)], [Counter])
    assert not have_one_name([(shared, Counter([shared]))], [Counter])
    assert not have_one_name([(one, [one])], [Counter])
