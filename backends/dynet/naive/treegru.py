"""TreeGRU with `(1 - z) * candidate` as the equation has it: every node has its own constant of ones, which is never batched.

(DyNet's operator for a number minus a vector is never batched either, and the Python package no longer offers it.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy

from backends.dynet.engine import Expression, Graph, Parameters
from backends.dynet.naive import Layer
from workloads.treegru.model import Leaf, Tree


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.hidden = model.embedding.embedding_dim
        self.words = parameters.table(parameters["embedding.weight"])
        self.W_z, self.W_h, self.U_z, self.U_r, self.U_h, self.classifier = (
            Layer(parameters, name) for name in ("W_z", "W_h", "U_z", "U_r", "U_h", "classifier")
        )

    def run(self, minibatch: Sequence[Tree], graph: Graph) -> list[Expression]:
        b_z, b_h = self.W_z.bias.expr(True), self.W_h.bias.expr(True)

        def encode(tree: Tree) -> Expression:
            if isinstance(tree, Leaf):
                x = dy.lookup(self.words, tree.word, False)
                return dy.cmult(dy.ones(self.hidden) - dy.logistic(self.W_z(x)), dy.tanh(self.W_h(x)))
            h_sum = encode(tree.left) + encode(tree.right)
            z = dy.logistic(self.U_z(h_sum) + b_z)
            r = dy.logistic(self.U_r(h_sum))
            candidate = dy.tanh(self.U_h(dy.cmult(r, h_sum)) + b_h)
            return dy.cmult(z, h_sum) + dy.cmult(dy.ones(self.hidden) - z, candidate)

        outputs = [self.classifier(encode(tree)) for tree in minibatch]
        graph.forward(outputs)
        return outputs
