"""TreeFC, the benchmark of TensorFlow Fold (Looks, Herreshoff, Hutchins and Norvig 2017), which Cortex (MLSys 2021) took
over: a full binary tree with a vector at each leaf, and one fully connected layer on both children's states side by side at
each inner node. The state of the root is the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Leaf:
    word: int


@dataclass(frozen=True, slots=True)
class Node:
    left: Tree
    right: Tree


Tree: TypeAlias = Leaf | Node


class TreeFC(nn.Module):
    """`forward(tree)` gives the state of the root, shape [hidden]."""

    def __init__(self, vocabulary: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.cell = nn.Linear(2 * hidden, hidden)

    def forward(self, tree: Tree) -> Tensor:
        match tree:
            case Leaf(word):
                return self.embedding.weight[word]
            case Node(left, right):
                return self.compose(self.forward(left), self.forward(right))

    def compose(self, left: Tensor, right: Tensor) -> Tensor:
        return torch.tanh(self.cell(torch.cat((left, right))))
