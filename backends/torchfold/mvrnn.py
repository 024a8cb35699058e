"""MV-RNN: a leaf looks up its vector and its matrix, an inner node computes both from its children's."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from backends.torchfold.folding import ModelOperations, Node
from workloads.mvrnn.model import MVRNN, Leaf, Tree

State = tuple[Tensor, Tensor]


class Operations(ModelOperations[MVRNN]):
    def add(self, fold: Any, tree: Tree) -> list[Node]:
        return [fold.add("classify", self.encode(fold, tree)[0])]

    def encode(self, fold: Any, tree: Tree) -> tuple[Node, Node]:
        if isinstance(tree, Leaf):
            v, m = fold.add("leaf", tree.word).split(2)
        else:
            v, m = fold.add("compose", *self.encode(fold, tree.left), *self.encode(fold, tree.right)).split(2)
        return v, m

    def leaf(self, words: Tensor) -> State:
        hidden = self.model.hidden
        return self.model.vectors(words), self.model.matrices(words).view(-1, hidden, hidden)

    def compose(self, left_v: Tensor, left_m: Tensor, right_v: Tensor, right_m: Tensor) -> State:
        modified = torch.cat((right_m @ left_v.unsqueeze(2), left_m @ right_v.unsqueeze(2)), dim=1).squeeze(2)
        return torch.tanh(self.model.W_v(modified)), self.model.W_m(torch.cat((left_m, right_m), dim=2))
