"""MV-RNN (Socher, Huval, Manning and Ng 2012): every node carries a vector, its meaning, and a matrix that modifies others.

A node's vector comes from its children's vectors, each first multiplied by its sibling's matrix; its matrix from both
matrices side by side. The root's vector is classified (five sentiment classes).
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
State: TypeAlias = tuple[Tensor, Tensor]


class MVRNN(nn.Module):
    """`forward(tree)` gives the class scores of the root, shape [classes]. A word's matrix is a row of hidden * hidden."""

    def __init__(self, vocabulary: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.vectors = nn.Embedding(vocabulary, hidden)
        self.matrices = nn.Embedding(vocabulary, hidden * hidden)
        self.W_v = nn.Linear(2 * hidden, hidden)
        self.W_m = nn.Linear(2 * hidden, hidden)
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, tree: Tree) -> Tensor:
        v, _ = self.encode(tree)
        return self.classifier(v)

    def encode(self, tree: Tree) -> State:
        match tree:
            case Leaf(word):
                return self.vectors.weight[word], self.matrices.weight[word].view(self.hidden, self.hidden)
            case Node(left, right):
                return self.compose(self.encode(left), self.encode(right))

    def compose(self, left: State, right: State) -> State:
        left_v, left_m = left
        right_v, right_m = right
        v = torch.tanh(self.W_v(torch.cat((right_m @ left_v, left_m @ right_v))))
        m = self.W_m(torch.cat((left_m, right_m), dim=1))
        return v, m
