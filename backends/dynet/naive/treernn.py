"""TreeRNN whose products and biases are separate operators: three for a node, where one affine transform would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy

from backends.dynet.engine import Expression, Graph, Parameters
from backends.dynet.naive import Layer
from workloads.treernn.model import Leaf, Tree


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.words = parameters.table(parameters["embedding.weight"])
        self.W, self.U, self.classifier = (Layer(parameters, name) for name in ("W", "U", "classifier"))

    def run(self, minibatch: Sequence[Tree], graph: Graph) -> list[Expression]:
        def encode(tree: Tree) -> Expression:
            x = self.W(dy.lookup(self.words, tree.word, False))
            return dy.tanh(x if isinstance(tree, Leaf) else x + self.U(encode(tree.left) + encode(tree.right)))

        outputs = [self.classifier(encode(tree)) for tree in minibatch]
        graph.forward(outputs)
        return outputs
