"""SimTree on the TreeLSTM of `naive/treelstm.py`, with its zeros; the comparison's products are separate operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy

from backends.dynet.engine import Expression, Graph, Parameters
from backends.dynet.naive import Layer, treelstm
from workloads.simtree.model import Pair


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.trees = treelstm.Program(model, parameters)
        self.product, self.distance = Layer(parameters, "product"), Layer(parameters, "distance")

    def run(self, minibatch: Sequence[Pair], graph: Graph) -> list[Expression]:
        encode = self.trees.encoder()
        outputs = []
        for pair in minibatch:
            (left, _), (right, _) = encode(pair.left), encode(pair.right)
            h = dy.logistic(self.product(dy.cmult(left, right)) + self.distance(dy.abs(left - right)))
            outputs.append(dy.softmax(self.trees.classifier(h)))
        graph.forward(outputs)
        return outputs
