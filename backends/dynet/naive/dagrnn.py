"""DAG-RNN with zeros outside of the grid, as the model has it: a constant for each cell at an edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy

from backends.dynet.engine import Expression, Graph, Parameters
from backends.dynet.naive import Layer


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.hidden = model.embedding.embedding_dim
        self.words = parameters.table(parameters["embedding.weight"])
        self.U, self.W, self.classifier = (Layer(parameters, name) for name in ("U", "W", "classifier"))

    def run(self, minibatch: Sequence[list[list[int]]], graph: Graph) -> list[list[list[Expression]]]:
        outputs = []
        for grid in minibatch:
            above = [dy.zeros(self.hidden) for _ in grid[0]]
            rows = []
            for cells in grid:
                left, states = dy.zeros(self.hidden), []
                for word, up in zip(cells, above, strict=True):
                    left = dy.tanh(self.U(dy.lookup(self.words, word, False)) + self.W(up + left))
                    states.append(left)
                rows.append([self.classifier(h) for h in states])
                above = states
            outputs.append(rows)
        graph.forward([scores for rows in outputs for row in rows for scores in row])
        return outputs
