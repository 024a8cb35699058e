"""Beam search: all hypotheses of all sentences take a step together, with as many rows for each sentence as the beam is wide.

Where a beam has become narrower, its other rows are computed and ignored. `topk` takes the best continuations of every row;
Python then chooses among those of a sentence, of which there are at most `width` squared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from backends.handbatched.seq2seq import KEPT, Translator
from backends.handbatched.sequences import pack
from backends.handbatched.setting import Setting
from backends.pytorch.batched import Counts
from workloads.beam.model import Beam
from workloads.seq2seq.model import END


class Hypothesis(NamedTuple):
    """The words without the first `END`, the sum of their log probabilities, and the row of the decoder's state."""

    words: tuple[int, ...]
    score: float
    row: int


class Search:
    """The beam of one sentence. `first` is its first row among those of all sentences."""

    def __init__(self, width: int, first: int) -> None:
        self.width = width
        self.beam = [Hypothesis((), 0.0, first)]
        self.ended: list[Hypothesis] = []

    def grow(self, values: Sequence[Sequence[float]], words: Sequence[Sequence[int]]) -> None:
        """Take one step. `values` and `words` have, for each row of all sentences, the best continuations."""
        grown = [
            Hypothesis((*h.words, word), h.score + value, h.row)
            for h in self.beam
            for value, word in zip(values[h.row], words[h.row], strict=True)
        ]
        grown.sort(key=lambda h: h.score, reverse=True)
        best = grown[: self.width - len(self.ended)]
        self.ended += [h for h in best if h.words[-1] == END]
        self.beam = [h for h in best if h.words[-1] != END]

    def answer(self) -> list[int]:
        best = max(self.ended or self.beam, key=lambda h: h.score / (len(h.words) + 1))
        return list(best.words)


class Program:
    def __init__(self, model: Beam, setting: Setting) -> None:
        self.device = setting.device
        self.width = model.width
        self.translator = Translator(model, setting)
        self.has_tables = setting.tables

    def run(self, minibatch: Sequence[list[int]], counts: Counts) -> list[list[int]]:
        translator, width = self.translator, self.width
        with counts.ingesting():
            packed = pack(minibatch, self.device)
        memory, mask, state = translator.read(packed)
        counts.nodes, counts.batches = len(packed.words), len(packed.steps)
        state = state.repeat_interleave(width, dim=0)
        searches = [Search(width, first * width) for first in range(len(minibatch))]  # in the order of lengths
        active = [*searches]  # the searches that still have rows in `state`, in their order
        last = [END] * len(state)
        for _ in range(translator.longest):
            counts.nodes, counts.batches = counts.nodes + sum(len(search.beam) for search in active), counts.batches + 1
            state = translator.decoder.step(translator.decoder.shares(torch.tensor(last, device=memory.device)), state)
            best = torch.log_softmax(translator.scores(memory, mask, state), dim=1).topk(width, dim=1)
            with counts.fetching():
                values, words = best.values.tolist(), best.indices.tolist()
            for search in active:
                search.grow(values, words)
            going = [number for number, search in enumerate(active) if search.beam]
            if not going:
                break
            if len(going) < KEPT * len(active):
                searching = torch.tensor(going, device=memory.device)
                memory, mask = memory[searching], mask[searching]
                active = [active[number] for number in going]
            before, last = [0] * (width * len(active)), [END] * (width * len(active))
            for number, search in enumerate(active):
                for row, hypothesis in enumerate(search.beam, number * width):
                    before[row], last[row] = hypothesis.row, hypothesis.words[-1]
                    search.beam[row - number * width] = hypothesis._replace(row=row)
            state = state[torch.tensor(before, device=memory.device)]
        return [searches[rank].answer() for rank in packed.ranks.tolist()]
