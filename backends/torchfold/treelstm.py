"""TreeLSTM: one operation for leaves, and one for each number of children of inner nodes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from backends.pytorch.programs import gates_of_treelstm
from backends.torchfold.folding import ModelOperations, Node
from workloads.treelstm.model import Leaf, Tree, TreeLSTM

State = tuple[Tensor, Tensor]


class Operations(ModelOperations[TreeLSTM]):
    def __init__(self, model: TreeLSTM) -> None:
        super().__init__(model)
        self.W, self.U, self.bias = gates_of_treelstm(model)

    def add(self, fold: Any, tree: Tree) -> list[Node]:
        return [fold.add("classify", self.encode(fold, tree)[0])]

    def encode(self, fold: Any, tree: Tree) -> tuple[Node, Node]:
        """Adds a tree; returns the nodes of its root's state and cell."""
        if isinstance(tree, Leaf):
            h, c = fold.add("leaf", tree.word).split(2)
        else:
            children = [part for child in tree.children for part in self.encode(fold, child)]
            operation = f"compose_{len(tree.children)}"  # calls of one operation have equally many arguments
            if not hasattr(self, operation):
                setattr(self, operation, self.compose)
            h, c = fold.add(operation, *children).split(2)
        return h, c

    def leaf(self, words: Tensor) -> State:
        i, o, u = linear(self.model.embedding(words), self.W, self.bias).chunk(3, dim=1)
        c = torch.sigmoid(i) * torch.tanh(u)
        return torch.sigmoid(o) * torch.tanh(c), c

    def compose(self, *children: Tensor) -> State:
        """The states and cells of inner nodes. `children`: the state and the cell of each child, in turn."""
        states, cells = children[::2], children[1::2]
        i, o, u = linear(sum(states[1:], states[0]), self.U, self.bias).chunk(3, dim=1)
        c = torch.sigmoid(i) * torch.tanh(u)
        for h, below in zip(states, cells, strict=True):
            c = c + torch.sigmoid(self.model.U_f(h)) * below
        return torch.sigmoid(o) * torch.tanh(c), c
