"""A mini-batch of trees as levels: all nodes of one height, over all instances, are computed together.

The nodes are numbered level after level, the leaves first, so that each level's results are neighbouring rows of one tensor
and the children of a level are rows before it. A leaf has height 0, and a node is one higher than its highest child.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

HEIGHT = 32  # while trees are walked, the code of a node is (height << HEIGHT) + its place among the nodes of that height
PLACE = (1 << HEIGHT) - 1


class Level(NamedTuple):
    """The inner nodes of one height: `size` nodes in rows from `first` on. `children`: the rows of their children, node after
    node; the children of node i begin at `starts[i]`."""

    first: int
    size: int
    children: Tensor
    starts: Tensor


class Levels(NamedTuple):
    """The levels of a mini-batch. `leaves`: the number of leaves, whose rows come first. `words`: the words of the nodes in the
    order of rows, or of the leaves only, if inner nodes have none. `roots`: the row of each instance's root. `nodes`: how many
    rows there are."""

    words: Tensor
    leaves: int
    inner: list[Level]
    roots: Tensor
    nodes: int

    @property
    def batches(self) -> int:
        """How many levels there are, including that of the leaves."""
        return len(self.inner) + (self.leaves > 0)

    def behind(self, vocabulary: int) -> Levels:
        """The same levels with rows counted in a table that has the vocabulary first and then the inner nodes: for models whose
        leaves are the rows of their words."""
        count = torch.arange(vocabulary, vocabulary + self.nodes - self.leaves, device=self.words.device)
        rows = torch.cat((self.words, count))
        shift = vocabulary - self.leaves
        moved = rows.index_select(0, torch.cat([*(level.children for level in self.inner), self.roots]))
        *children, roots = moved.split([*(len(level.children) for level in self.inner), len(self.roots)])
        inner = [
            Level(level.first + shift, level.size, below, level.starts)
            for level, below in zip(self.inner, children, strict=True)
        ]
        return Levels(self.words, self.leaves, inner, roots, self.nodes)


def levels(
    trees: Sequence[Any], leaf: type[Any], children: Callable[[Any], Sequence[Any]], device: str, heads: bool = False
) -> Levels:
    """The levels of `trees`. `leaf` is the class of leaves, which have a `word`; `children` gives the children of any other
    node; `heads` says that these have a `word`, too."""
    words: list[int] = []
    headed: list[list[int]] = []  # for each height from 1 on: the words of inner nodes
    codes: list[list[int]] = []  # for each height from 1 on: the codes of the nodes' children
    arities: list[list[int]] = []  # for each height from 1 on: how many children each node has

    def visit(tree: Any) -> int:
        if type(tree) is leaf:
            words.append(tree.word)
            return len(words) - 1
        below = [visit(child) for child in children(tree)]
        height = max(below) >> HEIGHT
        if height == len(codes):
            codes.append([])
            arities.append([])
            headed.append([])
        codes[height] += below
        if heads:
            headed[height].append(tree.word)
        level = arities[height]
        level.append(len(below))
        return (height + 1 << HEIGHT) + len(level) - 1

    roots = [visit(tree) for tree in trees]
    sizes = np.array([len(words), *map(len, arities)])
    ends = np.cumsum(sizes)
    every = np.array([code for level in (*codes, roots) for code in level], np.int64)
    rows = torch.from_numpy((ends - sizes)[every >> HEIGHT] + (every & PLACE)).to(device)
    inner = []
    if codes:
        # A node's children begin where those of the node before it in the same level end.
        arity = np.array([n for level in arities for n in level], np.int64)
        begins = np.cumsum(arity) - arity
        at = ends[:-1] - sizes[0]  # the number of each level's first node among the inner nodes
        begins -= np.repeat(begins[at], sizes[1:])
        starts = torch.from_numpy(begins).to(device).split(sizes[1:].tolist())
        parts = rows.split([*map(len, codes), len(roots)])
        inner = [
            Level(first, size, part, start)
            for first, size, part, start in zip(ends[:-1].tolist(), sizes[1:].tolist(), parts, starts, strict=False)
        ]
    leaves = len(words)
    every_word = torch.tensor(words + [word for level in headed for word in level], dtype=torch.int64)
    return Levels(every_word.to(device), leaves, inner, rows[len(rows) - len(roots) :], int(ends[-1]))
