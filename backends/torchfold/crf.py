"""BiLSTM-CRF: a step of either LSTM, the scores of a word's tags, and a step of Viterbi's algorithm are operations.

A fold concatenates its results, so they need one shape and one type: pointers are numbers of tags as floats, which are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from backends.pytorch.paths import read_off
from backends.pytorch.programs import side_by_side
from backends.torchfold.folding import ModelOperations, Node
from workloads.crf.model import CRF, LSTM

State = tuple[Tensor, Tensor]


class Operations(ModelOperations[CRF]):
    def __init__(self, model: CRF) -> None:
        super().__init__(model)
        self.gates = {"ahead": _gates(model.ahead), "behind": _gates(model.behind)}

    def add(self, fold: Any, sentence: list[int]) -> list[Node]:
        """Adds a sentence; returns, for every word, the nodes of its pointers and of the scores of paths that end with it."""
        if not sentence:
            return []
        ahead = self.scan(fold, "ahead", sentence)
        behind = self.scan(fold, "behind", sentence[::-1])
        emissions = [fold.add("emit", f, b) for f, b in zip(ahead, reversed(behind), strict=True)]
        best = fold.add("begin", emissions[0])
        wanted = [best, fold.add("end", best)]
        for emission in emissions[1:]:
            best, pointer = fold.add("search", best, emission).split(2)
            wanted += [pointer, fold.add("end", best)]
        return wanted

    def scan(self, fold: Any, direction: str, words: Sequence[int]) -> list[Node]:
        h, c = fold.add(f"first_{direction}", words[0]).split(2)
        states = [h]
        for word in words[1:]:
            h, c = fold.add(direction, word, h, c).split(2)
            states.append(h)
        return states

    def outputs(self, minibatch: Sequence[list[int]], results: Tensor) -> list[list[int]]:
        pointers, last = results[::2], results[1::2].argmax(dim=1)
        return read_off(pointers.numpy(), last.numpy(), [len(sentence) for sentence in minibatch])

    def ahead(self, words: Tensor, h: Tensor, c: Tensor) -> State:
        return self.step("ahead", words, h, c)

    def behind(self, words: Tensor, h: Tensor, c: Tensor) -> State:
        return self.step("behind", words, h, c)

    def first_ahead(self, words: Tensor) -> State:
        return self.step("ahead", words, self.model.start.expand(len(words), -1), None)

    def first_behind(self, words: Tensor) -> State:
        return self.step("behind", words, self.model.start.expand(len(words), -1), None)

    def step(self, direction: str, words: Tensor, h: Tensor, c: Tensor | None) -> State:
        weight, bias = self.gates[direction]
        i, f, o, u = linear(torch.cat((self.model.embedding(words), h), dim=1), weight, bias).chunk(4, dim=1)
        admitted = torch.sigmoid(i) * torch.tanh(u)
        c = admitted if c is None else torch.sigmoid(f) * c + admitted
        return torch.sigmoid(o) * torch.tanh(c), c

    def emit(self, f: Tensor, b: Tensor) -> Tensor:
        scores: Tensor = self.model.emission(torch.cat((f, b), dim=1))
        return scores

    def begin(self, emissions: Tensor) -> Tensor:
        return emissions + self.model.first

    def search(self, best: Tensor, emissions: Tensor) -> State:
        values, pointers = (best[:, None] + self.model.transitions).max(dim=2)
        return values + emissions, pointers.float()

    def end(self, best: Tensor) -> Tensor:
        return best + self.model.last


def _gates(cell: LSTM) -> tuple[Tensor, Tensor]:
    return side_by_side(cell.input, cell.forget, cell.output, cell.candidate)
