"""Seq2Seq. The sentences are read side by side and then wait together, each for its next word.

The states of a sentence are the columns of a matrix. DyNet never batches its products with a query and with the weights of
attention, since each instance has its own matrix; products of vectors, which DyNet does batch, would need three nodes for every
word and be several times as slow. The scores are read as one matrix, because DyNet's `argmax` is never batched.
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
    """The encoder, the decoder and the scores of the next word, for greedy decoding and for beam search."""

    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.longest = model.longest
        self.encoder = GRU(parameters, "encoder", "embedding.weight")
        self.decoder = GRU(parameters, "decoder", "target_embedding.weight")
        self.start = parameters.add(parameters["start"])
        self.query = parameters.add(parameters["query.weight"])
        self.combine = parameters.linear("combine", 2)
        self.output = parameters.linear("output")

    def encode(self) -> Callable[[Sequence[int]], list[Expression]]:
        """A function, for the current graph, from a sentence to the encoder's state after each word."""
        step = self.encoder.step()
        (start,) = expressions(self.start)

        def encode(sentence: Sequence[int]) -> list[Expression]:
            states = [start]
            for word in sentence:
                states.append(step(word, states[-1]))
            return states[1:]

        return encode

    def scores(self) -> Callable[[Expression, Expression, Expression], Expression]:
        """A function, for the current graph, from a sentence's states as columns, the same as rows, and the decoder's state to
        the scores of all target words."""
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
