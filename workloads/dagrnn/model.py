"""DAG-RNN (Shuai, Zuo, Wang and Wang 2016): a recurrent network over an image's grid, to label each of its cells.

The grid is taken as the acyclic graph that runs from the upper left corner to the lower right one: a cell's state comes from
its own input and from the sum of the states of its upper and its left neighbour, and its class scores come from its state.
A neighbour outside of the grid counts as zero. A cell's input is a row of a table: an image is given as the numbers of its
cells' visual words.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class DAGRNN(nn.Module):
    """`forward(grid)` gives every cell's class scores, row by row, each of shape [classes]."""

    def __init__(self, vocabulary: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.U = nn.Linear(hidden, hidden)
        self.W = nn.Linear(hidden, hidden, bias=False)
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, grid: list[list[int]]) -> list[list[Tensor]]:
        return [[self.classifier(h) for h in states] for states in self.states(grid)]

    def states(self, grid: list[list[int]]) -> list[list[Tensor]]:
        outside = torch.zeros_like(self.U.bias)
        rows = []
        above = [outside for _ in grid[0]]
        for words in grid:
            above = self.row(words, above, outside)
            rows.append(above)
        return rows

    def row(self, words: list[int], above: list[Tensor], left: Tensor) -> list[Tensor]:
        states = []
        for word, up in zip(words, above):  # noqa: B905
            left = self.cell(self.embedding.weight[word], up, left)
            states.append(left)
        return states

    def cell(self, x: Tensor, up: Tensor, left: Tensor) -> Tensor:
        return torch.tanh(self.U(x) + self.W(up + left))
