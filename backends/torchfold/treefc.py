"""TreeFC: a leaf is looked up, an inner node takes the concatenated states of its children."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from backends.torchfold.folding import ModelOperations, Node
from workloads.treefc.model import Leaf, Tree, TreeFC


class Operations(ModelOperations[TreeFC]):
    def add(self, fold: Any, tree: Tree) -> list[Node]:
        return [self.encode(fold, tree)]

    def encode(self, fold: Any, tree: Tree) -> Node:
        if isinstance(tree, Leaf):
            return fold.add("leaf", tree.word)
        return fold.add("compose", self.encode(fold, tree.left), self.encode(fold, tree.right))

    def leaf(self, words: Tensor) -> Tensor:
        vectors: Tensor = self.model.embedding(words)
        return vectors

    def compose(self, left: Tensor, right: Tensor) -> Tensor:
        return torch.tanh(self.model.cell(torch.cat((left, right), dim=1)))
