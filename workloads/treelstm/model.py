"""Child-sum TreeLSTM (Tai, Socher and Manning 2015, equations 2 to 8) over constituency trees.

Words stand at the leaves only, so a leaf has no children (h~ = 0) and an inner node no input (x = 0); every node has its
own i, o, u and one forget gate f per child. The root's state is classified (five sentiment classes). Weights are those of the
equations, one matrix for each gate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Leaf:
    word: int


@dataclass(frozen=True, slots=True)
class Node:
    children: list[Tree]


Tree: TypeAlias = Leaf | Node
State: TypeAlias = tuple[Tensor, Tensor]


class TreeLSTM(nn.Module):
    """`forward(tree)` gives the class scores of the root, shape [classes]."""

    def __init__(self, vocabulary: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.W_i = nn.Linear(hidden, hidden)
        self.W_o = nn.Linear(hidden, hidden)
        self.W_u = nn.Linear(hidden, hidden)
        self.U_i = nn.Linear(hidden, hidden, bias=False)
        self.U_o = nn.Linear(hidden, hidden, bias=False)
        self.U_u = nn.Linear(hidden, hidden, bias=False)
        self.U_f = nn.Linear(hidden, hidden)
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, tree: Tree) -> Tensor:
        h, _ = self.encode(tree)
        return self.classifier(h)

    def encode(self, tree: Tree) -> State:
        match tree:
            case Leaf(word):
                return self.leaf(self.embedding.weight[word])
            case Node(children):
                return self.compose([self.encode(child) for child in children])

    def leaf(self, x: Tensor) -> State:
        i = torch.sigmoid(self.W_i(x))
        o = torch.sigmoid(self.W_o(x))
        u = torch.tanh(self.W_u(x))
        c = i * u
        return o * torch.tanh(c), c

    def compose(self, children: list[State]) -> State:
        h_sum = reduce(torch.add, [h for h, _ in children])
        i = torch.sigmoid(self.U_i(h_sum) + self.W_i.bias)
        o = torch.sigmoid(self.U_o(h_sum) + self.W_o.bias)
        u = torch.tanh(self.U_u(h_sum) + self.W_u.bias)
        forgotten = [torch.sigmoid(self.U_f(h)) * c for h, c in children]
        c = i * u + reduce(torch.add, forgotten)
        return o * torch.tanh(c), c
