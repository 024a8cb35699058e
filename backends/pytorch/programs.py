"""What the programs for mini-batches of several systems share: weights put together, and outputs cut up by instance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from workloads.lattice.model import Lattice
    from workloads.treegru.model import TreeGRU
    from workloads.treelstm.model import TreeLSTM


LabelT = TypeVar("LabelT")


def side_by_side(*layers: nn.Linear) -> tuple[Tensor, Tensor]:
    """The weight [sum of their outputs, in] and the bias of the layer that computes what all `layers` compute."""
    return torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers])


def gates_of_treegru(model: TreeGRU) -> tuple[Tensor, Tensor]:
    """The weight and the bias of the update and the reset gate as one layer of the sum of the children's states."""
    return torch.cat((model.U_z.weight, model.U_r.weight)), torch.cat((model.W_z.bias, model.U_r.bias))


def gates_of_treelstm(model: TreeLSTM) -> tuple[Tensor, Tensor, Tensor]:
    """The gates i, o and u as one layer: its weight for words, its weight for the sum of the children's states, its bias."""
    words, bias = side_by_side(model.W_i, model.W_o, model.W_u)
    return words, torch.cat((model.U_i.weight, model.U_o.weight, model.U_u.weight)), bias


def left_and_right(node: Any) -> tuple[Any, Any]:
    """The children of an inner node of a binary tree."""
    return node.left, node.right


def grid_cells(grids: Sequence[list[list[int]]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For all cells, grid after grid, row by row: their words, the widths of their grids, and their numbers in their grids."""
    widths = np.array([len(grid[0]) for grid in grids])
    sizes = widths * np.array([len(grid) for grid in grids])
    words = np.fromiter(chain.from_iterable(chain.from_iterable(grids)), np.int64, int(sizes.sum()))
    return words, np.repeat(widths, sizes), np.arange(len(words)) - np.repeat(np.cumsum(sizes) - sizes, sizes)


class LatticeArcs(NamedTuple):
    """The arcs of lattices. `lengths`: how many characters each sentence has; `characters`: those of all, one sentence after
    the other. For every word: its number in `words`, that of its sentence, and the positions where its arc begins and ends,
    which is after that many characters."""

    lengths: np.ndarray
    characters: np.ndarray
    words: np.ndarray
    sentences: np.ndarray
    begins: np.ndarray
    ends: np.ndarray


def lattice_arcs(lattices: Sequence[Lattice]) -> LatticeArcs:
    lengths = np.array([len(lattice.characters) for lattice in lattices])
    characters = np.fromiter(chain.from_iterable(each.characters for each in lattices), np.int64, int(lengths.sum()))
    words = [
        (word.number, sentence, word.begin, end)
        for sentence, lattice in enumerate(lattices)
        for end, ending in enumerate(lattice.words, 1)
        for word in ending
    ]
    return LatticeArcs(lengths, characters, *np.array(words, np.int64).reshape(-1, 4).T)


def by_sentence(labels: Iterable[LabelT], sentences: Sequence[Sequence[int]]) -> list[list[LabelT]]:
    """A list of labels for each sentence. `labels`: those of all words, sentence after sentence."""
    remaining = iter(labels)
    return [[next(remaining) for _ in sentence] for sentence in sentences]


def by_grid(scores: Tensor, grids: Sequence[list[list[int]]]) -> list[Tensor]:
    """The scores of each grid: [rows, columns, classes]. `scores` [cells, classes]: those of all cells, grid after grid."""
    shapes = [(len(grid), len(grid[0])) for grid in grids]
    parts = scores.split([rows * columns for rows, columns in shapes])
    return [part.view(*shape, -1) for part, shape in zip(parts, shapes, strict=True)]
