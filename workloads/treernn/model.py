"""TreeRNN: an Elman network over binary trees, on which Cortex (MLSys 2021) shows what unrolling and hoisting do.

Every node has a word, an inner node the head word of its span; a node's state comes from the word's vector and from the sum
of its children's states. The root's state is classified (five sentiment classes).
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
    word: int
    left: Tree
    right: Tree


Tree: TypeAlias = Leaf | Node


class TreeRNN(nn.Module):
    """`forward(tree)` gives the class scores of the root, shape [classes]."""

    def __init__(self, vocabulary: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.W = nn.Linear(hidden, hidden)
        self.U = nn.Linear(hidden, hidden, bias=False)
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, tree: Tree) -> Tensor:
        return self.classifier(self.encode(tree))

    def encode(self, tree: Tree) -> Tensor:
        match tree:
            case Leaf(word):
                return self.leaf(self.embedding.weight[word])
            case Node(word, left, right):
                return self.compose(self.embedding.weight[word], self.encode(left), self.encode(right))

    def leaf(self, x: Tensor) -> Tensor:
        return torch.tanh(self.W(x))

    def compose(self, x: Tensor, left: Tensor, right: Tensor) -> Tensor:
        return torch.tanh(self.W(x) + self.U(left + right))
