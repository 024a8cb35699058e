"""Child-sum TreeLSTM (Tai, Socher and Manning 2015, equations 2 to 8) over constituency trees.

Words stand at the leaves only, so a leaf has no children (h~ = 0) and an inner node no input (x = 0); every node has its
own i, o, u and one forget gate f per child. The root's state is classified (five sentiment classes).
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
        self.W_iou = nn.Linear(hidden, 3 * hidden)
        self.U_iou = nn.Linear(hidden, 3 * hidden, bias=False)
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
        i, o, u = self.W_iou(x).chunk(3, dim=-1)
        c = torch.sigmoid(i) * torch.tanh(u)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, c

    def compose(self, children: list[State]) -> State:
        h_sum = reduce(torch.add, [h for h, _ in children])
        i, o, u = (self.U_iou(h_sum) + self.W_iou.bias).chunk(3, dim=-1)
        forgotten = [torch.sigmoid(self.U_f(h)) * c for h, c in children]
        c = torch.sigmoid(i) * torch.tanh(u) + reduce(torch.add, forgotten)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, c
