"""Ragged, with layers as their equations have them (`backends/dynet/naive/transformer.py`)."""

from __future__ import annotations

from collections.abc import Sequence

import dynet as dy

from backends.dynet import ragged
from backends.dynet.engine import Graph
from backends.dynet.naive.transformer import Layer
from backends.dynet.ragged import Rows


class Program(ragged.Program):
    layer = Layer

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
