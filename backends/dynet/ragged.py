"""Ragged. A sentence is a matrix with a column per word (`backends/dynet/transformer.py`), so nothing is padded; DyNet batches
sentences of equal length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy
import numpy as np

from backends.dynet.engine import Expression, Graph, Parameters
from backends.dynet.transformer import Layer


class Rows:
    """An output whose rows are the columns of a DyNet matrix. DyNet stores by columns, so reading rows needs no copy."""

    def __init__(self, columns: Expression) -> None:
        self.columns = columns

    def npvalue(self) -> np.ndarray:
        read: np.ndarray = self.columns.npvalue()
        return read.reshape(len(read), -1).T


class Program:
    layer: type = Layer

    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.words = parameters.table(parameters["embedding.weight"])
        self.positions = parameters.table(parameters["positions.weight"])
        self.layers = [self.layer(layer, parameters, f"layers.{i}.") for i, layer in enumerate(model.layers)]

    def run(self, minibatch: Sequence[list[int]], graph: Graph) -> list[Rows]:
        """The output of every sentence, a row for each word."""
        lookup = dy.lookup
        layers = [layer.expression() for layer in self.layers]
        outputs = []
        for sentence in minibatch:
            x = dy.concatenate_cols(
                [lookup(self.words, word, False) + lookup(self.positions, i, False) for i, word in enumerate(sentence)]
            )
            for layer in layers:
                x = layer(x)
            outputs.append(x)
        graph.forward(outputs)
        return [Rows(x) for x in outputs]
