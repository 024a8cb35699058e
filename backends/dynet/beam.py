"""Beam search. All hypotheses of all sentences take their steps side by side; their scores are read as one matrix, and numpy
and Python choose the hypotheses that stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dynet as dy
import numpy as np

from backends.dynet.engine import Graph, Parameters
from backends.dynet.interleave import Interleaving, Task
from backends.dynet.seq2seq import Translator
from workloads.beam.model import Hypothesis, best_of, extended
from workloads.seq2seq.model import END


class Program:
    def __init__(self, model: Any, parameters: Parameters) -> None:
        self.translator = Translator(model, parameters)
        self.width = model.width

    def run(self, minibatch: Sequence[list[int]], graph: Graph) -> list[list[int]]:
        translator, width = self.translator, self.width
        encode, step, scores = translator.encode(), translator.decoder.step(), translator.scores()

        def decode(sentence: Sequence[int], translations: list[list[int]], number: int) -> Task:
            states = encode(sentence)
            columns = dy.concatenate_cols(states)
            rows = dy.transpose(columns)
            beam = [Hypothesis([END], 0.0, states[-1])]
            ended: list[Hypothesis] = []
            for _ in range(translator.longest):
                states = [step(h.words[-1], h.state) for h in beam]
                continuations = yield [dy.log_softmax(scores(columns, rows, state)) for state in states]
                grown = [
                    extended(hypothesis, value, word, state)
                    for hypothesis, state, (values, words) in zip(beam, states, continuations, strict=True)
                    for value, word in zip(values, words, strict=True)
                ]
                best = sorted(grown, key=lambda h: h.score, reverse=True)[: width - len(ended)]
                ended += [h for h in best if h.words[-1] == END]
                beam = [h for h in best if h.words[-1] != END]
                if not beam:
                    break
            translations[number] = best_of(ended or beam)

        def read(wanted: list[list[Any]]) -> list[Any]:
            """For each hypothesis of each task the values and words of its `width` best continuations."""
            if not wanted:
                return []
            table = graph.columns([scores for each in wanted for scores in each])
            words = np.argpartition(table, -width, axis=0)[-width:]
            values = np.take_along_axis(table, words, axis=0)
            every = iter(zip(values.T.tolist(), words.T.tolist(), strict=True))
            return [[next(every) for _ in each] for each in wanted]

        tasks = Interleaving()
        outputs: list[list[int]] = [[] for _ in minibatch]
        for number, sentence in enumerate(minibatch):
            tasks.start(decode(sentence, outputs, number))
        tasks.run(graph, read)
        return outputs
