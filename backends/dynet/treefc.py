"""TreeFC. Left and right are multiplied with their parts of the weights, since their concatenation would be copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy

from backends.dynet.engine import Expression, Graph, Parameters, expressions
from workloads.treefc.model import Leaf, Tree


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.words = parameters.table(parameters["embedding.weight"])
        self.cell = parameters.linear("cell", 2)

    def run(self, minibatch: Sequence[Tree], graph: Graph) -> list[Expression]:
        lookup, affine, tanh, words = dy.lookup, dy.affine_transform, dy.tanh, self.words
        b, L, R = expressions(*self.cell)

        def encode(tree: Tree) -> Expression:
            if isinstance(tree, Leaf):
                return lookup(words, tree.word, False)
            return tanh(affine([b, L, encode(tree.left), R, encode(tree.right)]))

        outputs = [encode(tree) for tree in minibatch]
        graph.forward(outputs)
        return outputs
