"""TreeGRU: one operation for leaves and one for inner nodes. Update and reset gate are one product."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from backends.pytorch.programs import gates_of_treegru
from backends.torchfold.folding import ModelOperations, Node
from workloads.treegru.model import Leaf, Tree, TreeGRU


class Operations(ModelOperations[TreeGRU]):
    def __init__(self, model: TreeGRU) -> None:
        super().__init__(model)
        self.gates = gates_of_treegru(model)

    def add(self, fold: Any, tree: Tree) -> list[Node]:
        return [fold.add("classify", self.encode(fold, tree))]

    def encode(self, fold: Any, tree: Tree) -> Node:
        if isinstance(tree, Leaf):
            return fold.add("leaf", tree.word)
        return fold.add("compose", self.encode(fold, tree.left), self.encode(fold, tree.right))

    def leaf(self, words: Tensor) -> Tensor:
        return self.model.leaf(self.model.embedding(words))

    def compose(self, left: Tensor, right: Tensor) -> Tensor:
        h_sum = left + right
        z, r = torch.sigmoid(linear(h_sum, *self.gates)).chunk(2, dim=1)
        candidate = torch.tanh(self.model.U_h(r * h_sum) + self.model.W_h.bias)
        return z * h_sum + (1 - z) * candidate
