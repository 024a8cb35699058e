"""BiRNN with the word and the state concatenated, as the equation has them, and an `argmax` for every word.

The concatenations are copied, the words' products are computed step by step with the states', and `argmax` is never batched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy
import numpy as np

from backends.dynet.engine import Expression, Graph, Parameters
from backends.dynet.naive import Layer


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.words = parameters.table(parameters["embedding.weight"])
        self.starts = [parameters.add(parameters[f"{direction}_start"]) for direction in ("forward", "backward")]
        self.cells = [Layer(parameters, f"{direction}_cell") for direction in ("forward", "backward")]
        self.classifier = Layer(parameters, "classifier")

    def run(self, minibatch: Sequence[list[int]], graph: Graph) -> list[list[int]]:
        best = []
        for sentence in minibatch:
            words = [dy.lookup(self.words, word, False) for word in sentence]
            ahead, behind = self.scan(0, words), self.scan(1, words[::-1])
            for f, b in zip(ahead, reversed(behind), strict=True):
                best.append(dy.argmax(self.classifier(dy.concatenate([f, b])), "zero_gradient"))  # 1 at the maximum, else 0
        labels = iter(np.argmax(graph.values(best), axis=1).tolist() if best else [])
        return [[next(labels) for _ in sentence] for sentence in minibatch]

    def scan(self, direction: int, inputs: list[Expression]) -> list[Expression]:
        state, cell = self.starts[direction].expr(True), self.cells[direction]
        states = []
        for x in inputs:
            state = dy.logistic(cell(dy.concatenate([x, state])))
            states.append(state)
        return states
