"""TreeFC with the children's states concatenated, which copies them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy

from backends.dynet.engine import Expression, Graph, Parameters
from backends.dynet.naive import Layer
from workloads.treefc.model import Leaf, Tree


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.words = parameters.table(parameters["embedding.weight"])
        self.cell = Layer(parameters, "cell")

    def run(self, minibatch: Sequence[Tree], graph: Graph) -> list[Expression]:
        def encode(tree: Tree) -> Expression:
            if isinstance(tree, Leaf):
                return dy.lookup(self.words, tree.word, False)
            return dy.tanh(self.cell(dy.concatenate([encode(tree.left), encode(tree.right)])))

        outputs = [encode(tree) for tree in minibatch]
        graph.forward(outputs)
        return outputs
