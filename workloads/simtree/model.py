"""Semantic relatedness of two sentences (Tai, Socher and Manning 2015, section 4.2): one TreeLSTM reads both trees, and the
product and the distance of its two root states are classified.

The task is SICK's (Marelli et al. 2014): the class is how related the sentences are, 1 to 5. The TreeLSTM is that of
`workloads.treelstm.model`, words at the leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from workloads.treelstm.model import Tree, TreeLSTM


@dataclass(frozen=True, slots=True)
class Pair:
    left: Tree
    right: Tree


class SimTree(TreeLSTM):
    """`forward(pair)` gives the probabilities of the classes, shape [classes]. `similarity` is the size of the hidden layer."""

    def __init__(self, vocabulary: int, hidden: int, similarity: int, classes: int) -> None:
        super().__init__(vocabulary, hidden, classes)
        self.product = nn.Linear(hidden, similarity, bias=False)
        self.distance = nn.Linear(hidden, similarity)
        self.classifier = nn.Linear(similarity, classes)

    def forward(self, pair: Pair) -> Tensor:  # type: ignore[override]  # two trees where a TreeLSTM takes one
        left, _ = self.encode(pair.left)
        right, _ = self.encode(pair.right)
        return self.compare(left, right)

    def compare(self, left: Tensor, right: Tensor) -> Tensor:
        apart = torch.maximum(left - right, right - left)
        h = torch.sigmoid(self.product(left * right) + self.distance(apart))
        return torch.softmax(self.classifier(h), dim=-1)
