"""Ragged, with layers as their equations have them (`backends/dynet/naive/transformer.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy

from backends.dynet.engine import Graph, Parameters
from backends.dynet.naive.transformer import Layer
from backends.dynet.ragged import Rows


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.words = parameters.table(parameters["embedding.weight"])
        self.positions = parameters.table(parameters["positions.weight"])
        self.layers = [Layer(layer, parameters, f"layers.{i}.") for i, layer in enumerate(model.layers)]

    def run(self, minibatch: Sequence[list[int]], graph: Graph) -> list[Rows]:
        outputs = []
        for sentence in minibatch:
            words = [dy.lookup(self.words, word, False) for word in sentence]
            positions = [dy.lookup(self.positions, position, False) for position in range(len(sentence))]
            x = dy.concatenate_cols(words) + dy.concatenate_cols(positions)
            for layer in self.layers:
                x = layer(x)
            outputs.append(x)
        graph.forward(outputs)
        return [Rows(x) for x in outputs]
