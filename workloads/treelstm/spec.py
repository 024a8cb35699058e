"""TreeLSTM: sizes, parameters and trees.

Hidden size 256 (small) and 512 (large), word vectors as wide, as in ACRoBat (MLSys 2024); five classes and the trees are the
Stanford Sentiment Treebank's. Vocabulary 10,000: the treebank's dev and test files have 5,380 and 8,547 distinct words, so the
table is as large as real ones are (10 and 20 MB, larger than a core's cache) without dominating the load time.

| parameter | shape |
| --- | --- |
| embedding.weight | vocabulary, hidden |
| W_i, W_o, W_u, weight and bias (on a leaf's word; inner nodes use the bias only) | hidden, hidden; hidden |
| U_i.weight, U_o.weight, U_u.weight (on the sum of the children's states) | hidden, hidden |
| U_f.weight, U_f.bias | hidden, hidden; hidden |
| classifier.weight, classifier.bias | classes, hidden; classes |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from workloads import trees


class Spec(trees.TreeSpec):
    """`data` is a file of trees in the treebank's brackets; None generates trees with its statistics."""

    name = "treelstm"
    model_class = "TreeLSTM"
    shapes: ClassVar = {
        "tiny": {"vocabulary": 100, "hidden": 16, "classes": 5},
        "small": {"vocabulary": 10_000, "hidden": 256, "classes": 5},
        "large": {"vocabulary": 10_000, "hidden": 512, "classes": 5},
    }
    gains: ClassVar = {"U_i": 2.0, "U_o": 2.0, "U_u": 2.0, "U_f": 2.0, "classifier": 3.0}
    cells = ("leaf", "compose")

    def samples(self, shape: Mapping[str, int], random: np.random.Generator, n: int) -> list[Any]:
        from workloads.treelstm.model import Leaf, Node

        return trees.take(self.data, random, shape["vocabulary"], Leaf, Node, n)
