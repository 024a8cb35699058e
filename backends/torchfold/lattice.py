"""Lattice LSTM: an arc for a character and one for a word are two operations, as are those that begin at a sentence's start.

The arcs that end after one character are added up pair by pair, since an operation has a fixed number of arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from backends.pytorch.programs import by_sentence, side_by_side
from backends.torchfold.folding import ModelOperations, Node
from workloads.lattice.model import Lattice, LatticeLSTM

State = tuple[Tensor, Tensor]


class Operations(ModelOperations[LatticeLSTM]):
    def __init__(self, model: LatticeLSTM) -> None:
        super().__init__(model)
        self.of_characters = side_by_side(model.character_i, model.character_f, model.character_o, model.character_u)
        self.of_words = side_by_side(model.word_i, model.word_f, model.word_o, model.word_u)

    def add(self, fold: Any, lattice: Lattice) -> list[Node]:
        """Adds a sentence; returns the nodes of its characters' scores."""
        states: list[list[Node]] = [[]]  # at the start of a sentence there is no node: it has operations of its own
        for character, ending in zip(lattice.characters, lattice.words, strict=True):
            total = self.arc(fold, "character", character, states[-1])
            for word in ending:
                total = fold.add("sum", *total, *self.arc(fold, "word", word.number, states[word.begin])).split(2)
            states.append(list(total))
        return [fold.add("classify", h) for h, _ in states[1:]]

    def arc(self, fold: Any, kind: str, number: int, state: Sequence[Node]) -> Sequence[Node]:
        """The nodes of the state and the cell that an arc gives, from those where it begins."""
        ends: Sequence[Node] = fold.add(kind if state else f"first_{kind}", number, *state).split(2)
        return ends

    def outputs(self, minibatch: Sequence[Lattice], results: Tensor) -> list[list[Tensor]]:
        return by_sentence(results.unbind(0), [lattice.characters for lattice in minibatch])

    def character(self, numbers: Tensor, h: Tensor, c: Tensor) -> State:
        return self.cell(self.model.characters, self.of_characters, numbers, h, c)

    def word(self, numbers: Tensor, h: Tensor, c: Tensor) -> State:
        return self.cell(self.model.words, self.of_words, numbers, h, c)

    def first_character(self, numbers: Tensor) -> State:
        return self.character(numbers, *self.starts(len(numbers)))

    def first_word(self, numbers: Tensor) -> State:
        return self.word(numbers, *self.starts(len(numbers)))

    def starts(self, arcs: int) -> State:
        return self.model.start_h.expand(arcs, -1), self.model.start_c.expand(arcs, -1)

    def cell(self, vectors: nn.Embedding, gates: tuple[Tensor, Tensor], numbers: Tensor, h: Tensor, c: Tensor) -> State:
        i, f, o, u = linear(torch.cat((vectors(numbers), h), dim=1), *gates).chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(u)
        return torch.sigmoid(o) * torch.tanh(c), c

    def sum(self, h: Tensor, c: Tensor, of_arc_h: Tensor, of_arc_c: Tensor) -> State:
        return h + of_arc_h, c + of_arc_c
