"""Recurrences through the elements of a list: found in models whose work inline depth keeps apart, and in no others."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.analyses.recurrences import runs_through_elements
from backends.acrobat.frontend import build
from backends.acrobat.options import Options
from backends.acrobat.pipeline import executor_for, optimise


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.cell = nn.Linear(8, 4)
        self.start: Tensor = nn.Parameter(torch.zeros(4))

    def step(self, x: Tensor, h: Tensor) -> Tensor:
        return torch.tanh(self.cell(torch.cat((x, h))))


class Grid(Base):
    """Each row of the grid reads the row above it, element by element."""

    def forward(self, grid: list[list[int]]) -> list[Tensor]:
        above = [self.start for _ in grid[0]]
        for words in grid:
            left = self.start
            row: list[Tensor] = []
            for word, up in zip(words, above):  # noqa: B905
                left = self.step(self.table.weight[word] + up, left)
                row.append(left)
            above = row
        return above


class Back(Base):
    """Each state is computed from an earlier one, whose position the instance gives."""

    def forward(self, links: list[int]) -> Tensor:
        states = [self.start]
        for link in links:
            states.append(self.step(self.table.weight[link], states[link]))
        return states[-1]


class Joined(Base):
    """As `Back`, but each round makes a new list."""

    def forward(self, links: list[int]) -> Tensor:
        states = [self.start]
        for link in links:
            states = states + [self.step(self.table.weight[link], states[link])]  # noqa: RUF005
        return states[-1]


class Deciding(Base):
    """As `Back`, but each round waits for a tensor."""

    def forward(self, links: list[int]) -> Tensor:
        states = [self.start]
        for link in links:
            state = self.step(self.table.weight[link], states[link])
            if float(state[0]) > 0:
                states.append(state)
        return states[-1]


class Last(Base):
    """The element that is read is always the last one, and so the deepest."""

    def forward(self, words: list[int]) -> Tensor:
        states = [self.start]
        for word in words:
            states.append(self.step(self.table.weight[word], states[-1]))
        return states[-1]


class Stacked(Base):
    """A second recurrent network over the states of a first one: nothing is added to the list that is read."""

    def forward(self, words: list[int]) -> list[Tensor]:
        h = self.start
        first: list[Tensor] = []
        for word in words:
            h = self.step(self.table.weight[word], h)
            first.append(h)
        second: list[Tensor] = []
        for x in first:
            h = self.step(x, h)
            second.append(h)
        return second


class Layers(Base):
    """Each layer makes a new list of the same length, whose elements all have one depth."""

    def forward(self, words: list[int]) -> list[Tensor]:
        rows = [self.table.weight[w] for w in words]
        for _ in range(len(words)):
            rows = [self.step(row, self.start) for row in rows]
        return rows


@dataclass(frozen=True, slots=True)
class Tree:
    word: int
    children: list[Tree]


class Children(Base):
    """A recursion that makes a list of its children's states and then goes over this list."""

    def forward(self, tree: Tree) -> Tensor:
        states: list[Tensor] = []
        for child in tree.children:
            states.append(self.forward(child))
        h = self.start
        for state in states:
            h = self.step(state, h)
        return h + self.table.weight[tree.word]


@pytest.mark.parametrize(
    ("cls", "found"),
    [(cls, True) for cls in (Grid, Back, Joined, Deciding)] + [(cls, False) for cls in (Last, Stacked, Layers, Children)],
)
def test_what_counts(cls: type[nn.Module], found: bool) -> None:
    program = optimise(build(cls()), Options())
    assert runs_through_elements(program) is found
    assert executor_for(program, Options()) == ("dataflow" if found and cls is not Deciding else "inline")
    for executor in ("inline", "agenda"):
        assert executor_for(program, Options(executor=executor)) == executor, "who asks for one gets it"
