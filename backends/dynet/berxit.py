"""BERxiT. A sequence is a matrix with a column per token (`backends/dynet/transformer.py`). The instances wait together for the
decision to exit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy
import numpy as np

from backends.dynet.engine import Expression, Graph, Parameters, expressions
from backends.dynet.interleave import Interleaving, Task, stop
from backends.dynet.transformer import Layer
from workloads.berxit.model import Sample
from workloads.decisions import split


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.input = parameters.input
        self.layers, self.real = model.layers, model.real
        self.layer = Layer(model, parameters)
        self.certainty = parameters.linear("certainty")
        self.classifier = parameters.linear("classifier")

    def run(self, minibatch: Sequence[Sample], graph: Graph) -> list[int]:
        affine, real, layers = dy.affine_transform, self.real, self.layers
        layer = self.layer.expression()
        b_c, W_c = expressions(*self.certainty)
        b, W = expressions(*self.classifier)

        def go(sample: Sample, first: list[Expression | None], number: int) -> Task:
            x = self.input(sample.x)
            for layer_number in range(1, layers + 1):
                x = layer(x)
                first[number] = dy.pick(x, 0, 1)
                certain = yield dy.logistic(affine([b_c, W_c, first[number]]))
                if stop(certain, layers - layer_number, split(sample.key, layer_number), real):
                    break

        tasks = Interleaving()
        first: list[Expression | None] = [None] * len(minibatch)
        for number, sample in enumerate(minibatch):
            tasks.start(go(sample, first, number))
        tasks.run(graph)
        probabilities = graph.values([dy.softmax(affine([b, W, x])) for x in first])
        return [int(np.argmax(p)) for p in probabilities]
