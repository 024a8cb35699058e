"""BiLSTM-CRF on packed sequences, as `birnn`; then Viterbi's algorithm on them, step by step for all sentences. numpy reads off
the best paths backwards, from the pointers of all steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from backends.handbatched.products import accumulation, product
from backends.handbatched.sequences import Packed, pack
from backends.handbatched.setting import Setting
from backends.handbatched.words import WordProducts
from backends.pytorch.batched import Counts
from backends.pytorch.programs import by_sentence, side_by_side
from workloads.crf.model import CRF, LSTM


class Direction:
    """An LSTM over sentences read one way."""

    def __init__(self, cell: LSTM, words: Tensor, setting: Setting) -> None:
        self.hidden = words.shape[1]
        weight, bias = side_by_side(cell.input, cell.forget, cell.output, cell.candidate)
        of_word, of_state = weight.chunk(2, dim=1)
        self.inputs = WordProducts(setting, words, of_word, bias)
        self.add_share_of = accumulation(setting.library, of_state)

    def states(self, words: Tensor, steps: Sequence[int], start: Tensor) -> Tensor:
        """The states [words, hidden] of words that are in the order of steps."""
        shares = self.inputs(words)
        states = shares.new_empty(len(shares), self.hidden)
        h = start.expand(steps[0], -1)
        c = shares.new_zeros(steps[0], self.hidden)
        for share, states_of_step in zip(shares.split(list(steps)), states.split(list(steps)), strict=True):
            going = len(share)
            self.add_share_of(share, h[:going])
            i, f, o = share[:, : 3 * self.hidden].sigmoid_().chunk(3, dim=1)
            c = (f * c[:going]).addcmul_(i, share[:, 3 * self.hidden :].tanh_())
            h = torch.mul(o, c.tanh(), out=states_of_step)
        return states


class Program:
    def __init__(self, model: CRF, setting: Setting) -> None:
        words = model.embedding.weight
        self.device = setting.device
        self.start = model.start
        self.ahead, self.behind = Direction(model.ahead, words, setting), Direction(model.behind, words, setting)
        of_ahead, of_behind = model.emission.weight.chunk(2, dim=1)
        self.emit_ahead = product(setting.library, of_ahead, model.emission.bias)
        self.emit_behind = product(setting.library, of_behind)
        self.first, self.transitions, self.last = model.first, model.transitions, model.last
        self.has_tables = setting.tables

    def run(self, minibatch: Sequence[list[int]], counts: Counts) -> list[list[int]]:
        if not any(minibatch):
            return [[] for _ in minibatch]
        with counts.ingesting():
            packed = pack(minibatch, self.device)
        # Each word is a node of both LSTMs and of the scores of tags, and, but for the first, of Viterbi's algorithm.
        counts.nodes = 4 * len(packed.words) - packed.steps[0]
        counts.batches = 3 * len(packed.steps)
        ahead = self.emit_ahead(self.ahead.states(packed.words, packed.steps, self.start))
        behind = self.emit_behind(self.behind.states(packed.reversed, packed.steps, self.start))
        tags = self.best_paths(ahead + behind.index_select(0, packed.mirrored), packed, counts)
        return by_sentence(tags[packed.places.cpu().numpy()].tolist(), minibatch)

    def best_paths(self, emissions: Tensor, packed: Packed, counts: Counts) -> np.ndarray:
        """The tag of every word, in the order of steps. `emissions`: [words, tags]."""
        first, *others = emissions.split(packed.steps)
        best = first + self.first
        pointers = []
        for emission in others:
            going = len(emission)
            values, pointer = (best[:going, None] + self.transitions).max(dim=2)
            torch.add(values, emission, out=best[:going])
            pointers.append(pointer)
        with counts.fetching():
            back = torch.cat([*pointers, best[:0].long()]).cpu().numpy()
            tag = (best + self.last).argmax(dim=1).cpu().numpy()
        tags = np.empty(len(emissions), np.int64)
        end = len(emissions)
        for going in packed.steps[:0:-1]:
            tags[end - going : end] = tag[:going]
            pointer = back[end - going - packed.steps[0] : end - packed.steps[0]]
            tag[:going] = pointer[np.arange(going), tag[:going]]
            end -= going
        tags[:end] = tag
        return tags
