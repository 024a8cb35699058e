"""Child-sum TreeGRU over binary constituency trees: the GRU of Cho et al. (2014) with the sum of the children's states in the
place of the previous state, as Tai, Socher and Manning (2015) do it for the LSTM. It is the TreeGRU of Cortex (MLSys 2021).

Words stand at the leaves only. A leaf has no children, so the sum is zero and the reset gate, which would multiply it, is left
out; an inner node has no input. The root's state is classified (five sentiment classes). Weights are those of the equations,
one matrix for each gate.
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


class TreeGRU(nn.Module):
    """`forward(tree)` gives the class scores of the root, shape [classes]."""

    def __init__(self, vocabulary: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.W_z = nn.Linear(hidden, hidden)
        self.W_h = nn.Linear(hidden, hidden)
        self.U_z = nn.Linear(hidden, hidden, bias=False)
        self.U_r = nn.Linear(hidden, hidden)
        self.U_h = nn.Linear(hidden, hidden, bias=False)
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, tree: Tree) -> Tensor:
        return self.classifier(self.encode(tree))

    def encode(self, tree: Tree) -> Tensor:
        match tree:
            case Leaf(word):
                return self.leaf(self.embedding.weight[word])
            case Node(left, right):
                return self.compose(self.encode(left), self.encode(right))

    def leaf(self, x: Tensor) -> Tensor:
        z = torch.sigmoid(self.W_z(x))
        return (1 - z) * torch.tanh(self.W_h(x))

    def compose(self, left: Tensor, right: Tensor) -> Tensor:
        h_sum = left + right
        z = torch.sigmoid(self.U_z(h_sum) + self.W_z.bias)
        r = torch.sigmoid(self.U_r(h_sum))
        candidate = torch.tanh(self.U_h(r * h_sum) + self.W_h.bias)
        return z * h_sum + (1 - z) * candidate
