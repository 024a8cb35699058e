"""DAG-RNN: cells with no neighbour before them, with one, and with two are three different operations.

A state that two cells need is one node of the fold, so it is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from backends.pytorch.programs import by_grid
from backends.torchfold.folding import ModelOperations, Node
from workloads.dagrnn.model import DAGRNN

Grid = list[list[int]]


class Operations(ModelOperations[DAGRNN]):
    def add(self, fold: Any, grid: Grid) -> list[Node]:
        """Adds a grid; returns the nodes of its cells' states, row by row."""
        cells: list[Node] = []
        width = len(grid[0])
        for row, words in enumerate(grid):
            for column, word in enumerate(words):
                before = [cells[-width]] if row else []
                if column:
                    before.append(cells[-1])
                cells.append(fold.add(f"cell_{len(before)}", word, *before))
        return cells

    def outputs(self, minibatch: Sequence[Grid], results: Tensor) -> list[Tensor]:
        """The scores of every grid, each of shape [rows, columns, classes]."""
        return by_grid(self.model.classifier(results), minibatch)

    def cell_0(self, words: Tensor) -> Tensor:
        return torch.tanh(self.model.U(self.model.embedding(words)))

    def cell_1(self, words: Tensor, before: Tensor) -> Tensor:
        return torch.tanh(self.model.U(self.model.embedding(words)) + self.model.W(before))

    def cell_2(self, words: Tensor, up: Tensor, left: Tensor) -> Tensor:
        return self.cell_1(words, up + left)
