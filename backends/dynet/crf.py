"""BiLSTM-CRF. The scores of all words' tags are read as one matrix, and numpy finds the best paths for all sentences at once,
since DyNet never batches the operators that Viterbi's algorithm needs: adding a vector to columns, and maxima.

The time of numpy is part of `construct_ms`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dynet as dy
import numpy as np

from backends.dynet.engine import Expression, Graph, Parameters, expressions

GATES = ("input", "forget", "output", "candidate")


class LSTM:
    """An LSTM over words. Its cell starts at zero, so that the first step needs no forget gate."""

    def __init__(self, parameters: Parameters, name: str, words: str) -> None:
        self.gates = [parameters.linear(f"{name}.{gate}", 2) for gate in GATES]
        tables = GATES if parameters.tables else ()
        self.shares = [parameters.projection(words, f"{name}.{gate}", 2) for gate in tables]

    def states(self, table: Any, start: Expression) -> Callable[[Sequence[int]], list[Expression]]:
        """A function, for the current graph, from a sequence of words to the state after each of them."""
        lookup, affine, sigmoid, tanh, times = dy.lookup, dy.affine_transform, dy.logistic, dy.tanh, dy.cmult
        (b_i, W_i, U_i), (b_f, W_f, U_f), (b_o, W_o, U_o), (b_u, W_u, U_u) = (expressions(*gate) for gate in self.gates)

        def states(words: Sequence[int]) -> list[Expression]:
            h, c = start, None  # the first cell is zero
            f: Expression | None
            hs = []
            for word in words:
                if self.shares:
                    of_i, of_f, of_o, of_u = (lookup(share, word, False) for share in self.shares)
                    i, o, u = sigmoid(of_i + U_i * h), sigmoid(of_o + U_o * h), tanh(of_u + U_u * h)
                    f = None if c is None else sigmoid(of_f + U_f * h)
                else:
                    x = lookup(table, word, False)
                    i, o = sigmoid(affine([b_i, W_i, x, U_i, h])), sigmoid(affine([b_o, W_o, x, U_o, h]))
                    u = tanh(affine([b_u, W_u, x, U_u, h]))
                    f = None if c is None else sigmoid(affine([b_f, W_f, x, U_f, h]))
                c = times(i, u) if c is None or f is None else times(f, c) + times(i, u)
                h = times(o, tanh(c))
                hs.append(h)
            return hs

        return states


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.words = parameters.table(parameters["embedding.weight"])
        self.start = parameters.add(parameters["start"])
        self.ahead = LSTM(parameters, "ahead", "embedding.weight")
        self.behind = LSTM(parameters, "behind", "embedding.weight")
        self.emission = parameters.linear("emission", 2)
        self.tags = Tags(*(parameters[name] for name in ("first", "transitions", "last")))

    def run(self, minibatch: Sequence[list[int]], graph: Graph) -> list[list[int]]:
        affine = dy.affine_transform
        (start,) = expressions(self.start)
        ahead, behind = self.ahead.states(self.words, start), self.behind.states(self.words, start)
        b, W_f, W_b = expressions(*self.emission)
        emissions = [
            affine([b, W_f, f, W_b, s])
            for sentence in minibatch
            for f, s in zip(ahead(sentence), reversed(behind(sentence[::-1])), strict=True)
        ]
        if not emissions:
            return [[] for _ in minibatch]
        return self.tags.best(graph.columns(emissions).T, [len(sentence) for sentence in minibatch])


class Tags:
    """Viterbi's algorithm in numpy, with the scores of tags at the start, of pairs [to, from], and at the end."""

    def __init__(self, first: np.ndarray, transitions: np.ndarray, last: np.ndarray) -> None:
        self.first, self.transitions, self.last = first, transitions, last

    def best(self, emissions: np.ndarray, lengths: Sequence[int]) -> list[list[int]]:
        """The best path of each sentence (Viterbi 1967). `emissions`: [words, tags] of all words, sentence after sentence."""
        sizes = np.array(lengths)
        order = np.argsort(-sizes, kind="stable")  # the longest first, so that those that go on come first
        starts, sizes = (np.cumsum(sizes) - sizes)[order], sizes[order]
        starts, sizes = starts[sizes > 0], sizes[sizes > 0]
        best = self.first + emissions[starts]
        pointers = []
        for step in range(1, int(sizes[0])):
            going = int(np.count_nonzero(sizes > step))
            paths = self.transitions + best[:going, None]
            pointers.append(paths.argmax(axis=2))
            best[:going] = paths.max(axis=2) + emissions[starts[:going] + step]
        tag = (best + self.last).argmax(axis=1)
        tags = np.empty(len(emissions), np.int64)
        tags[starts + sizes - 1] = tag
        for step in range(len(pointers), 0, -1):
            pointer = pointers[step - 1]
            going = len(pointer)
            tag[:going] = pointer[np.arange(going), tag[:going]]
            tags[starts[:going] + step - 1] = tag[:going]
        labels = iter(tags.tolist())
        return [[next(labels) for _ in range(length)] for length in lengths]
