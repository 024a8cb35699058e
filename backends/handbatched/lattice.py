"""Lattice LSTM position by position: all arcs that end at one position, of characters and of words, over all sentences.

The states at all positions lie in one tensor, position after position and the longest sentence first, so that those that an arc
for a character begins at are neighbouring rows. The arcs of a position are first those of characters, then those of words; the
shares that their inputs have in the gates are computed before, in two products.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from backends.handbatched.products import accumulation, product
from backends.handbatched.setting import Setting
from backends.handbatched.words import WordProducts
from backends.pytorch.batched import Counts
from backends.pytorch.programs import by_sentence, lattice_arcs, side_by_side
from workloads.lattice.model import Lattice, LatticeLSTM


class Step(NamedTuple):
    """The arcs that end at one position: as many for characters as there are sentences that reach it, then those for words.
    `begins`: the rows of the states that the arcs begin at; `ends`: the rows of the states that those for words end at;
    `first`: the row of the first state at this position."""

    characters: int
    begins: Tensor
    ends: Tensor
    first: int


class Positions(NamedTuple):
    """All arcs, position after position. `characters`, `words`: the numbers of their inputs; `of_characters`, `of_words`: where
    these arcs stand among all arcs. `sentences`: how many there are, which are the states at the first position; `rows`: how
    many states there are. `places`: for every character in the order given the row of the state after it."""

    characters: Tensor
    words: Tensor
    of_characters: Tensor
    of_words: Tensor
    steps: list[Step]
    sentences: int
    rows: int
    places: Tensor


def positions(lattices: Sequence[Lattice], device: str) -> Positions:
    """Reads the lattices, numbers states and arcs, and puts the index vectors on `device`."""
    lengths, characters, words, sentences, begins, ends = lattice_arcs(lattices)
    ranks = np.empty(len(lengths), np.int64)
    ranks[np.argsort(-lengths, kind="stable")] = np.arange(len(lengths))
    reaching = len(lengths) - np.cumsum(np.bincount(lengths)) + np.bincount(lengths)  # sentences with a state there
    first = np.cumsum(reaching) - reaching
    starts = np.cumsum(lengths) - lengths
    after = np.arange(len(characters)) - np.repeat(starts, lengths) + 1  # the position behind each character
    rank = np.repeat(ranks, lengths)
    # Arcs in order: by the position where they end, then characters before words, then by the rank of their sentence.
    end = np.concatenate((after, ends))
    is_word = np.repeat((0, 1), (len(after), len(ends)))
    ranked = np.concatenate((rank, ranks[sentences]))
    order = np.lexsort((ranked, is_word, end))
    places_of_arcs = np.empty_like(order)
    places_of_arcs[order] = np.arange(len(order))
    begin_rows = (first[np.concatenate((after - 1, begins))] + ranked)[order]
    end_rows = (first[end] + ranked)[order]
    arrays = (begin_rows, end_rows, places_of_arcs, characters, words, first[after] + rank)
    begin_at, end_at, arc_at, numbers, of_lexicon, places = (torch.from_numpy(array).to(device) for array in arrays)
    steps, here = [], 0
    for position, (arcs, going) in enumerate(zip(np.bincount(end).tolist()[1:], reaching.tolist()[1:], strict=True), 1):
        steps.append(Step(going, begin_at[here : here + arcs], end_at[here + going : here + arcs], int(first[position])))
        here += arcs
    of_characters, of_words = arc_at.split([len(after), len(ends)])
    return Positions(numbers, of_lexicon, of_characters, of_words, steps, len(lengths), int(reaching.sum()), places)


class Arcs:
    """The gates of the arcs of one kind. `inputs` gives the shares of the inputs, `add_share_of` adds those of states."""

    def __init__(self, setting: Setting, vectors: Tensor, gates: Sequence[nn.Linear]) -> None:
        weight, bias = side_by_side(*gates)
        of_input, of_state = weight.chunk(2, dim=1)
        self.inputs = WordProducts(setting, vectors, of_input, bias)
        self.add_share_of = accumulation(setting.library, of_state)


class Program:
    def __init__(self, model: LatticeLSTM, setting: Setting) -> None:
        self.device = setting.device
        self.start_h, self.start_c = model.start_h, model.start_c
        of_characters = (model.character_i, model.character_f, model.character_o, model.character_u)
        of_words = (model.word_i, model.word_f, model.word_o, model.word_u)
        self.characters = Arcs(setting, model.characters.weight, of_characters)
        self.words = Arcs(setting, model.words.weight, of_words)
        self.classifier = product(setting.library, model.classifier.weight, model.classifier.bias)
        self.has_tables = setting.tables

    def run(self, minibatch: Sequence[Lattice], counts: Counts) -> list[list[Tensor]]:
        """The scores of every character, sentence after sentence, each of shape [classes]."""
        with counts.ingesting():
            order = positions(minibatch, self.device)
        arcs = len(order.characters) + len(order.words)
        counts.nodes = arcs + len(order.characters)  # the classifier after the arcs
        counts.batches = len(order.steps) + sum(len(step.ends) > 0 for step in order.steps) + 1
        hidden = len(self.start_h)
        h, c = (start.new_empty(order.rows, hidden) for start in (self.start_h, self.start_c))
        h[: order.sentences], c[: order.sentences] = self.start_h, self.start_c
        gates = h.new_empty(arcs, 4 * hidden)
        gates.index_copy_(0, order.of_characters, self.characters.inputs(order.characters))
        gates.index_copy_(0, order.of_words, self.words.inputs(order.words))
        for step, sums in zip(order.steps, gates.split([len(step.begins) for step in order.steps]), strict=True):
            self.advance(step, sums, h, c)
        scores = self.classifier(h).index_select(0, order.places)
        return by_sentence(scores.unbind(0), [lattice.characters for lattice in minibatch])

    def advance(self, step: Step, sums: Tensor, h: Tensor, c: Tensor) -> None:
        """Computes the states at one position. `sums`: the shares of the arcs' inputs, which are overwritten."""
        hidden, characters = h.shape[1], step.characters
        before = h.index_select(0, step.begins)
        self.characters.add_share_of(sums[:characters], before[:characters])
        if len(step.ends):
            self.words.add_share_of(sums[characters:], before[characters:])
        i, f, o = sums[:, : 3 * hidden].sigmoid_().chunk(3, dim=1)
        arc_c = c.index_select(0, step.begins).mul_(f).addcmul_(i, sums[:, 3 * hidden :].tanh_())
        arc_h = torch.tanh(arc_c).mul_(o)
        for states, of_arcs in ((h, arc_h), (c, arc_c)):
            states[step.first : step.first + characters] = of_arcs[:characters]
            if len(step.ends):
                states.index_add_(0, step.ends, of_arcs[characters:])
