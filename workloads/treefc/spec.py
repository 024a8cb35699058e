"""TreeFC: sizes, parameters and trees.

Hidden size 256 (small) and 512 (large), as in Cortex (MLSys 2021); leaves as wide. All trees are full: 7 levels of inner
nodes over 128 leaves, as in TensorFlow Fold's benchmark (Looks et al. 2017); 3 levels at size tiny. Only the vectors at the
leaves differ, rows of a table of 10,000.

| parameter | shape |
| --- | --- |
| embedding.weight | vocabulary, hidden |
| cell.weight, cell.bias (columns: left, then right) | hidden, 2 hidden; hidden |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from workloads.spec import ModelSpec
from workloads.text import draw_words


class Spec(ModelSpec):
    name = "treefc"
    model_class = "TreeFC"
    shapes: ClassVar = {
        "tiny": {"vocabulary": 100, "hidden": 16},
        "small": {"vocabulary": 10_000, "hidden": 256},
        "large": {"vocabulary": 10_000, "hidden": 512},
    }
    heights: ClassVar[Mapping[int, int]] = {16: 3, 256: 7, 512: 7}
    """Levels of inner nodes, by hidden size."""
    gains: ClassVar = {"embedding": 0.7, "cell": 1.5}
    cells = ("compose",)

    def samples(self, shape: Mapping[str, int], random: np.random.Generator, n: int) -> list[Any]:
        from workloads.treefc.model import Leaf

        leaves = 2 ** self.heights[shape["hidden"]]
        return [full([Leaf(word) for word in draw_words(random, leaves, shape["vocabulary"])]) for _ in range(n)]


def full(row: Sequence[Any]) -> Any:
    """The full binary tree over a row of nodes, whose number is a power of two."""
    from workloads.treefc.model import Node

    while len(row) > 1:
        row = [Node(left, right) for left, right in zip(row[::2], row[1::2], strict=True)]
    return row[0]
