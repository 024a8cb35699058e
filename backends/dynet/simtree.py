"""SimTree: TreeLSTM's program reads both trees, and one more layer compares their states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy

from backends.dynet import treelstm
from backends.dynet.engine import Expression, Graph, Parameters, expressions
from workloads.simtree.model import Pair


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.trees = treelstm.Program(model, parameters)
        self.product = parameters.add(parameters["product.weight"])
        self.distance = parameters.linear("distance")

    def run(self, minibatch: Sequence[Pair], graph: Graph) -> list[Expression]:
        encode = self.trees.encoder()
        (product,) = expressions(self.product)
        bias, distance = expressions(*self.distance)
        b, W = expressions(*self.trees.classifier)

        def compare(left: Expression, right: Expression) -> Expression:
            h = dy.logistic(dy.affine_transform([bias, product, dy.cmult(left, right), distance, dy.abs(left - right)]))
            return dy.softmax(dy.affine_transform([b, W, h]))

        outputs = [compare(encode(pair.left)[0], encode(pair.right)[0]) for pair in minibatch]
        graph.forward(outputs)
        return outputs
