"""BERxiT, one instance after the other: each reads its certainty after every layer, so nothing is batched across instances. The
layers are those of `backends/dynet/naive/transformer.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy
import numpy as np

from backends.dynet.engine import Graph, Parameters
from backends.dynet.interleave import stop
from backends.dynet.naive import Layer as Linear
from backends.dynet.naive.transformer import Layer
from workloads.berxit.model import Sample
from workloads.decisions import split


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.input = parameters.input
        self.layers, self.real = model.layers, model.real
        self.layer = Layer(model, parameters)
        self.certainty, self.classifier = Linear(parameters, "certainty"), Linear(parameters, "classifier")

    def run(self, minibatch: Sequence[Sample], graph: Graph) -> list[int]:
        return [self.label(sample, graph) for sample in minibatch]

    def label(self, sample: Sample, graph: Graph) -> int:
        x = self.input(sample.x)
        for layer_number in range(1, self.layers + 1):
            x = self.layer(x)
            (certain,) = graph.values([dy.logistic(self.certainty(dy.pick(x, 0, 1)))])
            if stop(certain, self.layers - layer_number, split(sample.key, layer_number), self.real):
                break
        (probabilities,) = graph.values([dy.softmax(self.classifier(dy.pick(x, 0, 1)))])
        return int(np.argmax(probabilities))
