"""DAG-RNN. Missing neighbours are left out of the sums, and the first cell, which has none, has no product with `W`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import dynet as dy

from backends.dynet.engine import DEADLOCK, Expression, Graph, Parameters, expressions


class Program:
    unsupported: ClassVar[Mapping[int, str]] = {3: DEADLOCK}

    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.words = parameters.table(parameters["embedding.weight"])
        self.inputs = parameters.linear("U")
        self.share = parameters.projection("embedding.weight", "U") if parameters.tables else None
        self.states = parameters.add(parameters["W.weight"])
        self.classifier = parameters.linear("classifier")

    def run(self, minibatch: Sequence[list[list[int]]], graph: Graph) -> list[list[list[Expression]]]:
        lookup, affine, tanh, words, share = dy.lookup, dy.affine_transform, dy.tanh, self.words, self.share
        b_x, U = expressions(*self.inputs)
        (W,) = expressions(self.states)
        b, C = expressions(*self.classifier)
        outputs = []
        for grid in minibatch:
            above: list[Expression] = []
            rows = []
            for cells in grid:
                states: list[Expression] = []
                for j, word in enumerate(cells):
                    x = affine([b_x, U, lookup(words, word, False)]) if share is None else lookup(share, word, False)
                    neighbours = ([above[j]] if above else []) + states[-1:]
                    if neighbours:
                        x = x + W * (neighbours[0] if len(neighbours) == 1 else neighbours[0] + neighbours[1])
                    states.append(tanh(x))
                rows.append([affine([b, C, h]) for h in states])
                above = states
            outputs.append(rows)
        graph.forward([scores for rows in outputs for row in rows for scores in row])
        return outputs
