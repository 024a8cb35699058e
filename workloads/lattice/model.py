"""Lattice LSTM: labels the characters of a Chinese sentence, with all words of a lexicon that its characters may form.

The idea is that of Zhang and Yang (Chinese NER using lattice LSTM, ACL 2018): beside the arc from one character to the next,
each word is an arc from before its first to after its last character. The equations are those of the lattice LSTM that
ED-Batch (Chen et al., ICML 2023) is evaluated on: every arc is an LSTM cell on the state where it begins, with gates i, f, o
and u for characters and others for words, and the state between two characters is the sum over the arcs that end there.
(Zhang and Yang weigh words by gates of their own instead.) The arcs of a sentence can be computed in many orders, and batching
by depth or by agenda chooses bad ones."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Word:
    """A word: its number in the lexicon, and the position of its first character in the sentence."""

    number: int
    begin: int


@dataclass(frozen=True, slots=True)
class Lattice:
    """A sentence, and for each of its characters the words that end with it."""

    characters: list[int]
    words: list[list[Word]]


class LatticeLSTM(nn.Module):
    """`forward(lattice)` gives the class scores of every character, each of shape [classes]."""

    def __init__(self, characters: int, words: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.characters = nn.Embedding(characters, hidden)
        self.words = nn.Embedding(words, hidden)
        self.start_h = nn.Parameter(torch.empty(hidden))
        self.start_c = nn.Parameter(torch.empty(hidden))
        self.character_i = nn.Linear(2 * hidden, hidden)
        self.character_f = nn.Linear(2 * hidden, hidden)
        self.character_o = nn.Linear(2 * hidden, hidden)
        self.character_u = nn.Linear(2 * hidden, hidden)
        self.word_i = nn.Linear(2 * hidden, hidden)
        self.word_f = nn.Linear(2 * hidden, hidden)
        self.word_o = nn.Linear(2 * hidden, hidden)
        self.word_u = nn.Linear(2 * hidden, hidden)
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, lattice: Lattice) -> list[Tensor]:
        return [self.classifier(h) for h in self.states(lattice)]

    def states(self, lattice: Lattice) -> list[Tensor]:
        h: Tensor = self.start_h
        c: Tensor = self.start_c
        hs, cs = [h], [c]
        for character, ending in zip(lattice.characters, lattice.words):  # noqa: B905
            arcs = [self.word_arc(self.words.weight[w.number], hs[w.begin], cs[w.begin]) for w in ending]
            arc_h, arc_c = self.character_arc(self.characters.weight[character], h, c)
            h = sum([arc[0] for arc in arcs], arc_h)
            c = sum([arc[1] for arc in arcs], arc_c)
            hs.append(h)
            cs.append(c)
        return hs[1:]

    def character_arc(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        xh = torch.cat((x, h))
        i = torch.sigmoid(self.character_i(xh))
        f = torch.sigmoid(self.character_f(xh))
        o = torch.sigmoid(self.character_o(xh))
        c = f * c + i * torch.tanh(self.character_u(xh))
        return o * torch.tanh(c), c

    def word_arc(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        xh = torch.cat((x, h))
        i = torch.sigmoid(self.word_i(xh))
        f = torch.sigmoid(self.word_f(xh))
        o = torch.sigmoid(self.word_o(xh))
        c = f * c + i * torch.tanh(self.word_u(xh))
        return o * torch.tanh(c), c
