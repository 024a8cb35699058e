"""Seq2Seq. The sentences are read side by side and then wait together, each for its next word.

The states of a sentence are the columns of a matrix. Its products with a query and with the weights of attention are of an
instance's own matrix, which DyNet never batches; written with vectors, which it does batch, they would be three nodes for
every word, and several times as slow. The scores are read as one matrix: DyNet's `argmax` is never batched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dynet as dy

from backends.dynet.engine import Expression, Graph, Parameters, expressions
from backends.dynet.gru import GRU
from backends.dynet.interleave import Interleaving, Task
from workloads.seq2seq.model import END


class Translator:
    """What a sentence is read with, and what scores the next word: for greedy decoding and for beam search."""

    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.longest = model.longest
        self.encoder = GRU(parameters, "encoder", "embedding.weight")
        self.decoder = GRU(parameters, "decoder", "target_embedding.weight")
        self.start = parameters.add(parameters["start"])
        self.query = parameters.add(parameters["query.weight"])
        self.combine = parameters.linear("combine", 2)
        self.output = parameters.linear("output")

    def encode(self) -> Callable[[Sequence[int]], list[Expression]]:
        """In the graph there is now: from a sentence to its states."""
        step = self.encoder.step()
        (start,) = expressions(self.start)

        def encode(sentence: Sequence[int]) -> list[Expression]:
            states = [start]
            for word in sentence:
                states.append(step(word, states[-1]))
            return states[1:]

        return encode

    def scores(self) -> Callable[[Expression, Expression, Expression], Expression]:
        """In the graph there is now: from a sentence's states as columns and as rows and the decoder's state to the scores of
        all words."""
        affine = dy.affine_transform
        (W_q,) = expressions(self.query)
        b_c, W_c, U_c = expressions(*self.combine)
        b, W = expressions(*self.output)

        def scores(columns: Expression, rows: Expression, state: Expression) -> Expression:
            context = columns * dy.softmax(rows * (W_q * state))
            return affine([b, W, dy.tanh(affine([b_c, W_c, context, U_c, state]))])

        return scores


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.translator = Translator(model, parameters)

    def run(self, minibatch: Sequence[list[int]], graph: Graph) -> list[list[int]]:
        translator = self.translator
        encode, step, scores = translator.encode(), translator.decoder.step(), translator.scores()

        def decode(sentence: Sequence[int], words: list[int]) -> Task:
            states = encode(sentence)
            columns = dy.concatenate_cols(states)
            rows = dy.transpose(columns)
            state, word = states[-1], END
            for _ in range(translator.longest):
                state = step(word, state)
                word = yield scores(columns, rows, state)
                if word == END:
                    return
                words.append(word)

        tasks = Interleaving()
        outputs: list[list[int]] = [[] for _ in minibatch]
        for sentence, words in zip(minibatch, outputs, strict=True):
            tasks.start(decode(sentence, words))
        tasks.run(graph, lambda wanted: graph.columns(wanted).argmax(axis=0).tolist() if wanted else [])
        return outputs
