"""TreeRNN: sizes, parameters and trees.

Hidden size 256 (small) and 512 (large), word vectors as wide, as in Cortex (MLSys 2021); five classes and the trees are the
Stanford Sentiment Treebank's. The treebank's inner nodes have no words; here each has the last of the words below it as its
head word. Vocabulary 10,000, as for TreeLSTM.

| parameter | shape |
| --- | --- |
| embedding.weight | vocabulary, hidden |
| W.weight, W.bias (on a node's word) | hidden, hidden; hidden |
| U.weight (on the sum of the children's states) | hidden, hidden |
| classifier.weight, classifier.bias | classes, hidden; classes |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from workloads import trees


class Spec(trees.TreeSpec):
    """`data` is a file of trees in the treebank's brackets; None generates trees with its statistics."""

    name = "treernn"
    model_class = "TreeRNN"
    shapes: ClassVar = {
        "tiny": {"vocabulary": 100, "hidden": 16, "classes": 5},
        "small": {"vocabulary": 10_000, "hidden": 256, "classes": 5},
        "large": {"vocabulary": 10_000, "hidden": 512, "classes": 5},
    }
    gains: ClassVar = {"W": 0.5, "classifier": 3.0}
    cells = ("leaf", "compose")

    def samples(self, shape: Mapping[str, int], random: np.random.Generator, n: int) -> list[Any]:
        from workloads.treernn.model import Leaf, Node

        def node(children: list[Any]) -> Any:
            left, right = children
            return Node(right.word, left, right)

        return trees.take(self.data, random, shape["vocabulary"], Leaf, node, n)
