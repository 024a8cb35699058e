"""TreeRNN. All words are multiplied with their weights before any state is computed, so that these products are one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy

from backends.dynet.engine import Expression, Graph, Parameters, expressions
from workloads.treernn.model import Leaf, Tree


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.words = parameters.table(parameters["embedding.weight"])
        self.inputs = parameters.linear("W")
        self.share = parameters.projection("embedding.weight", "W") if parameters.tables else None
        self.states = parameters.add(parameters["U.weight"])
        self.classifier = parameters.linear("classifier")

    def run(self, minibatch: Sequence[Tree], graph: Graph) -> list[Expression]:
        lookup, affine, tanh, words, share = dy.lookup, dy.affine_transform, dy.tanh, self.words, self.share
        b_x, W_x = expressions(*self.inputs)
        (U,) = expressions(self.states)
        b, W = expressions(*self.classifier)

        def encode(tree: Tree) -> Expression:
            if share is not None:
                x = lookup(share, tree.word, False)
            else:
                x = affine([b_x, W_x, lookup(words, tree.word, False)])
            if isinstance(tree, Leaf):
                return tanh(x)
            return tanh(x + U * (encode(tree.left) + encode(tree.right)))

        outputs = [affine([b, W, encode(tree)]) for tree in minibatch]
        graph.forward(outputs)
        return outputs
