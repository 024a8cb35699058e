"""SimTree: sizes, parameters and pairs of trees.

Hidden size 256 (small) and 512 (large), as for treelstm; a similarity layer of 50 and five classes as in Tai et al. (2015).
SICK (Marelli et al. 2014) has sentences of 9.6 words on average and about 2,400 distinct words: vocabulary 2,400. Its sentences
were simplified when it was made, so they are short and alike in length: generated ones have a standard deviation of 3 words and
are between 3 and 30 words long (chosen here: SICK's publications give the mean only).

| parameter | shape |
| --- | --- |
| embedding.weight | vocabulary, hidden |
| W_i, W_o, W_u, weight and bias (on a leaf's word; inner nodes use the bias only) | hidden, hidden; hidden |
| U_i.weight, U_o.weight, U_u.weight (on the sum of the children's states) | hidden, hidden |
| U_f.weight, U_f.bias | hidden, hidden; hidden |
| product.weight (on the product of the two root states) | similarity, hidden |
| distance.weight, distance.bias (on their distance) | similarity, hidden; similarity |
| classifier.weight, classifier.bias | classes, similarity; classes |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from workloads import trees

SICK = trees.Lengths(mean=9.6, spread=3.0, least=3, most=30)


class Spec(trees.TreeSpec):
    """`data` is a file of trees in the Stanford Sentiment Treebank's brackets, in which every two lines are a pair; None
    generates trees of SICK's lengths, bracketed as unevenly as the treebank's."""

    name = "simtree"
    model_class = "SimTree"
    pairs = True
    shapes: ClassVar = {
        "tiny": {"vocabulary": 100, "hidden": 16, "similarity": 10, "classes": 5},
        "small": {"vocabulary": 2_400, "hidden": 256, "similarity": 50, "classes": 5},
        "large": {"vocabulary": 2_400, "hidden": 512, "similarity": 50, "classes": 5},
    }
    gains: ClassVar = {
        "U_i": 2.0,
        "U_o": 2.0,
        "U_u": 2.0,
        "U_f": 2.0,
        "product": 3.0,
        "distance": 3.0,
        "classifier": 3.0,
    }
    cells = ("leaf", "compose", "compare")

    def samples(self, shape: Mapping[str, int], random: np.random.Generator, n: int) -> list[Any]:
        from workloads.simtree.model import Pair
        from workloads.treelstm.model import Leaf, Node

        both_trees = trees.take(self.data, random, shape["vocabulary"], Leaf, Node, 2 * n, SICK)
        return [Pair(left, right) for left, right in zip(both_trees[::2], both_trees[1::2], strict=True)]
