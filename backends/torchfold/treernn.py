"""TreeRNN: one operation for leaves and one for inner nodes, by the model's own methods, which also work on batches."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from backends.torchfold.folding import ModelOperations, Node
from workloads.treernn.model import Leaf, Tree, TreeRNN


class Operations(ModelOperations[TreeRNN]):
    def add(self, fold: Any, tree: Tree) -> list[Node]:
        return [fold.add("classify", self.encode(fold, tree))]

    def encode(self, fold: Any, tree: Tree) -> Node:
        if isinstance(tree, Leaf):
            return fold.add("leaf", tree.word)
        return fold.add("compose", tree.word, self.encode(fold, tree.left), self.encode(fold, tree.right))

    def leaf(self, words: Tensor) -> Tensor:
        return self.model.leaf(self.model.embedding(words))

    def compose(self, words: Tensor, left: Tensor, right: Tensor) -> Tensor:
        return self.model.compose(self.model.embedding(words), left, right)
