"""BiRNN. One affine transform on the word and the state, rather than on their concatenation, which would be copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy
import numpy as np

from backends.dynet.engine import Expression, Graph, Parameters, expressions


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.words = parameters.table(parameters["embedding.weight"])
        self.forwards = [parameters.add(parameters["forward_start"]), *parameters.linear("forward_cell", 2)]
        self.backwards = [parameters.add(parameters["backward_start"]), *parameters.linear("backward_cell", 2)]
        self.classifier = parameters.linear("classifier", 2)

    def run(self, minibatch: Sequence[list[int]], graph: Graph) -> list[list[int]]:
        lookup, affine, words = dy.lookup, dy.affine_transform, self.words
        forwards, backwards = expressions(*self.forwards), expressions(*self.backwards)
        b, W_f, W_b = expressions(*self.classifier)
        scores = []
        for sentence in minibatch:
            inputs = [lookup(words, word, False) for word in sentence]
            ahead, behind = scan(forwards, inputs), scan(backwards, inputs[::-1])
            scores += [affine([b, W_f, f, W_b, s]) for f, s in zip(ahead, reversed(behind), strict=True)]
        best = iter(np.argmax(graph.values(scores), axis=1).tolist() if scores else [])
        return [[next(best) for _ in sentence] for sentence in minibatch]


def scan(parameters: list[Expression], inputs: list[Expression]) -> list[Expression]:
    affine, sigmoid = dy.affine_transform, dy.logistic
    state, b, W, U = parameters
    states = []
    for x in inputs:
        state = sigmoid(affine([b, W, x, U, state]))
        states.append(state)
    return states
