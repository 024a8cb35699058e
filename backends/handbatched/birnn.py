"""BiRNN on packed sequences: sentences in order of their length, the longest first, word by word.

The words' products with their part of a cell's weights are computed first, in one product. A step adds to them, in place, the
products of the states of those sentences that have not ended, so the tensor of the words' products becomes that of the states.
The backward RNN takes the same steps on reversed sentences; only the scores of its states are reordered to match the words.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from backends.handbatched.products import accumulation, product
from backends.handbatched.sequences import pack
from backends.handbatched.setting import Setting
from backends.handbatched.words import WordProducts
from backends.pytorch.batched import Counts
from backends.pytorch.programs import by_sentence
from workloads.birnn.model import BiRNN


class Direction:
    """An RNN over sentences read one way."""

    def __init__(self, cell: torch.nn.Linear, start: Tensor, words: Tensor, setting: Setting) -> None:
        of_word, of_state = cell.weight.chunk(2, dim=1)
        self.inputs = WordProducts(setting, words, of_word, cell.bias)
        self.first = of_state @ start  # every sentence begins in the same state
        self.add_share_of = accumulation(setting.library, of_state)

    def states(self, words: Tensor, steps: Sequence[int]) -> Tensor:
        """The states [words, hidden] of words that are in the order of steps."""
        shares = self.inputs(words)
        state = None
        for share in shares.split(list(steps)):
            if state is None:
                share += self.first
            else:
                self.add_share_of(share, state[: len(share)])
            state = share.sigmoid_()
        return shares


class Program:
    def __init__(self, model: BiRNN, setting: Setting) -> None:
        words = model.embedding.weight
        self.device = setting.device
        self.ahead = Direction(model.forward_cell, model.forward_start, words, setting)
        self.behind = Direction(model.backward_cell, model.backward_start, words, setting)
        of_ahead, of_behind = model.classifier.weight.chunk(2, dim=1)
        self.classify_ahead = product(setting.library, of_ahead, model.classifier.bias)
        self.classify_behind = product(setting.library, of_behind)
        self.has_tables = setting.tables

    def run(self, minibatch: Sequence[list[int]], counts: Counts) -> list[list[int]]:
        if not any(minibatch):
            return [[] for _ in minibatch]
        with counts.ingesting():
            packed = pack(minibatch, self.device)
        counts.nodes, counts.batches = 3 * len(packed.words), 2 * len(packed.steps) + 1  # two RNNs, then the classifier
        ahead = self.classify_ahead(self.ahead.states(packed.words, packed.steps))
        behind = self.classify_behind(self.behind.states(packed.reversed, packed.steps))
        best = (ahead + behind.index_select(0, packed.mirrored)).argmax(dim=1).index_select(0, packed.places)
        with counts.fetching():
            labels = best.tolist()
        return by_sentence(labels, minibatch)
