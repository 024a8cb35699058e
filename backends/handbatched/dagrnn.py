"""DAG-RNN: all cells on one diagonal, from the upper right to the lower left, are computed together, over all grids.

The products of all words are computed first and become the states in place; the scores of all cells are one product.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from backends.handbatched.products import accumulation, product
from backends.handbatched.setting import Setting
from backends.handbatched.trees import Level
from backends.handbatched.words import WordProducts
from backends.pytorch.batched import Counts
from backends.pytorch.programs import by_grid, grid_cells
from workloads.dagrnn.model import DAGRNN

Grid = list[list[int]]


class Diagonals(NamedTuple):
    """The cells of all grids, diagonal by diagonal: their `words`; the `inner` diagonals, which are all but the upper left
    corners, with each cell's upper and left neighbours as its children; and `places`, the position in the order of diagonals
    for each cell in the order of grids and rows."""

    words: Tensor
    inner: list[Level]
    places: Tensor


def diagonals(grids: Sequence[Grid], device: str) -> Diagonals:
    """Reads the grids, numbers their cells diagonal by diagonal, and puts the index vectors on `device`."""
    words, width, inside = grid_cells(grids)
    row, column = inside // width, inside % width
    diagonal = row + column
    order = np.argsort(diagonal, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    # Each cell's upper and left neighbour, in two columns. Numbers of neighbours outside are wrong; `present` drops them.
    neighbours = np.stack((places[np.maximum(np.arange(len(words)) - width, 0)], np.roll(places, 1)), axis=1)[order]
    present = np.stack((row > 0, column > 0), axis=1)[order]
    ends = np.cumsum(np.bincount(diagonal)).tolist()
    inner = []
    for first, end in pairwise(ends):
        present_here = present[first:end]
        count = present_here.sum(axis=1)
        below = torch.from_numpy(neighbours[first:end][present_here]).to(device)
        inner.append(Level(first, end - first, below, torch.from_numpy(np.cumsum(count) - count).to(device)))
    return Diagonals(torch.from_numpy(words[order]).to(device), inner, torch.from_numpy(places).to(device))


class Program:
    def __init__(self, model: DAGRNN, setting: Setting) -> None:
        self.device = setting.device
        self.inputs = WordProducts(setting, model.embedding.weight, model.U.weight, model.U.bias)
        self.add_share_of = accumulation(setting.library, model.W.weight)
        self.classifier = product(setting.library, model.classifier.weight, model.classifier.bias)
        self.has_tables = setting.tables

    def run(self, minibatch: Sequence[Grid], counts: Counts) -> list[Tensor]:
        """The scores of every grid, each of shape [rows, columns, classes]."""
        with counts.ingesting():
            order = diagonals(minibatch, self.device)
        states = self.inputs(order.words)
        corners = order.inner[0].first if order.inner else len(states)
        counts.batches, counts.nodes = len(order.inner) + 2, 2 * len(states)  # the classifier after the cells
        states[:corners].tanh_()
        for level in order.inner:
            rows = states[level.first : level.first + level.size]
            self.add_share_of(rows, torch.embedding_bag(states, level.children, level.starts)[0])
            rows.tanh_()
        return by_grid(self.classifier(states).index_select(0, order.places), minibatch)
