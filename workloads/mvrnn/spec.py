"""MV-RNN: sizes, parameters and trees.

Hidden size 64 (small) and 128 (large) as in ACRoBat (MLSys 2024); five classes and the trees are the Stanford Sentiment
Treebank's. Vocabulary 1,000, into which the words of real trees are hashed: every word has a matrix, so 10,000 words would
take 164 MB at hidden size 64 and 655 MB at 128; 1,000 take 16 and 66 MB, still larger than a core's cache.

| parameter | shape |
| --- | --- |
| vectors.weight | vocabulary, hidden |
| matrices.weight (a word's matrix, row after row) | vocabulary, hidden * hidden |
| W_v.weight, W_v.bias | hidden, 2 hidden; hidden |
| W_m.weight, W_m.bias | hidden, 2 hidden; hidden |
| classifier.weight, classifier.bias | classes, hidden; classes |

As in Socher et al. (2012), word matrices start at the identity plus noise, and `W_m` at about half an identity for each child:
a node's matrix is about the mean of its children's, however deep the tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from workloads import trees


class Spec(trees.TreeSpec):
    """`data` is a file of trees in the treebank's brackets; None generates trees with its statistics."""

    name = "mvrnn"
    model_class = "MVRNN"
    shapes: ClassVar = {
        "tiny": {"vocabulary": 100, "hidden": 16, "classes": 5},
        "small": {"vocabulary": 1_000, "hidden": 64, "classes": 5},
        "large": {"vocabulary": 1_000, "hidden": 128, "classes": 5},
    }
    gains: ClassVar = {"vectors": 0.5, "W_v": 1.5, "W_m": 0.1, "classifier": 2.0}
    cells = ("compose",)

    def params(self, size: str, seed: int) -> dict[str, np.ndarray]:
        params = super().params(size, seed)
        hidden = self.shape(size)["hidden"]
        identity = np.eye(hidden, dtype=np.float32)
        params["matrices.weight"] = params["matrices.weight"] * np.float32(0.5 / hidden**0.5) + identity.reshape(-1)
        params["W_m.weight"] = params["W_m.weight"] + np.float32(0.475) * np.tile(identity, 2)
        return params

    def samples(self, shape: Mapping[str, int], random: np.random.Generator, n: int) -> list[Any]:
        from workloads.mvrnn.model import Leaf, Node

        return trees.take(self.data, random, shape["vocabulary"], Leaf, lambda children: Node(*children), n)
