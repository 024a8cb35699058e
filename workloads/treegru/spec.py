"""TreeGRU: sizes, parameters and trees.

Hidden size 256 (small) and 512 (large), word vectors as wide, as in Cortex (MLSys 2021); five classes and the trees are the
Stanford Sentiment Treebank's. Vocabulary 10,000, as for TreeLSTM.

| parameter | shape |
| --- | --- |
| embedding.weight | vocabulary, hidden |
| W_z, W_h, weight and bias (on a leaf's word; inner nodes use the bias only) | hidden, hidden; hidden |
| U_z.weight (on the sum of the children's states), U_h.weight (on the sum that the reset gate has gated) | hidden, hidden |
| U_r.weight, U_r.bias (on the sum of the children's states) | hidden, hidden; hidden |
| classifier.weight, classifier.bias | classes, hidden; classes |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from workloads import trees


class Spec(trees.TreeSpec):
    """`data` is a file of trees in the treebank's brackets; None generates trees with its statistics."""

    name = "treegru"
    model_class = "TreeGRU"
    shapes: ClassVar = {
        "tiny": {"vocabulary": 100, "hidden": 16, "classes": 5},
        "small": {"vocabulary": 10_000, "hidden": 256, "classes": 5},
        "large": {"vocabulary": 10_000, "hidden": 512, "classes": 5},
    }
    gains: ClassVar = {"U_h": 1.5, "classifier": 3.0}
    cells = ("leaf", "compose")

    def samples(self, shape: Mapping[str, int], random: np.random.Generator, n: int) -> list[Any]:
        from workloads.treegru.model import Leaf, Node

        return trees.take(self.data, random, shape["vocabulary"], Leaf, lambda children: Node(*children), n)
