"""MV-RNN as its equations are: the children's matrices side by side times a weight, and a matrix times a vector.

In all three products of a node the left operand belongs to that node alone, so none of them is ever batched; the concatenation
of the matrices is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy
import numpy as np

from backends.dynet.engine import Expression, Graph, Parameters
from backends.dynet.naive import Layer
from workloads.mvrnn.model import Leaf, Tree


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        hidden = model.hidden
        self.vectors = parameters.table(parameters["vectors.weight"])
        matrices = parameters["matrices.weight"].reshape(-1, hidden, hidden)
        self.matrices = parameters.table(matrices.transpose(0, 2, 1))  # looking up a row of a table transposes it
        self.vector = Layer(parameters, "W_v")
        self.weight = parameters.add(parameters["W_m.weight"].T)
        self.bias = parameters.add(np.tile(parameters["W_m.bias"], (hidden, 1)))
        self.classifier = Layer(parameters, "classifier")

    def run(self, minibatch: Sequence[Tree], graph: Graph) -> list[Expression]:
        weight, bias = self.weight.expr(True), self.bias.expr(True)

        def encode(tree: Tree) -> tuple[Expression, Expression]:
            if isinstance(tree, Leaf):
                return dy.lookup(self.vectors, tree.word, False), dy.lookup(self.matrices, tree.word, False)
            left_v, left_m = encode(tree.left)
            right_v, right_m = encode(tree.right)
            v = dy.tanh(self.vector(dy.concatenate([right_m * left_v, left_m * right_v])))
            return v, dy.concatenate_cols([left_m, right_m]) * weight + bias

        outputs = [self.classifier(encode(tree)[0]) for tree in minibatch]
        graph.forward(outputs)
        return outputs
