"""BiRNN: a step in either direction is an operation, and so is the classification of a word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from backends.pytorch.programs import by_sentence
from backends.torchfold.folding import ModelOperations, Node
from workloads.birnn.model import BiRNN


class Operations(ModelOperations[BiRNN]):
    def add(self, fold: Any, sentence: list[int]) -> list[Node]:
        """Adds a sentence; returns the nodes of its words' scores."""
        ahead = self.scan(fold, "ahead", sentence)
        behind = self.scan(fold, "behind", sentence[::-1])
        return [fold.add("score", f, b) for f, b in zip(ahead, reversed(behind), strict=True)]

    def scan(self, fold: Any, direction: str, words: Sequence[int]) -> list[Node]:
        states: list[Node] = []
        for word in words:
            states.append(fold.add(direction, word, states[-1]) if states else fold.add(f"first_{direction}", word))
        return states

    def outputs(self, minibatch: Sequence[list[int]], results: Tensor) -> list[list[int]]:
        return by_sentence(results.argmax(dim=1).tolist(), minibatch)

    def ahead(self, words: Tensor, states: Tensor) -> Tensor:
        return torch.sigmoid(self.model.forward_cell(torch.cat((self.model.embedding(words), states), dim=1)))

    def behind(self, words: Tensor, states: Tensor) -> Tensor:
        return torch.sigmoid(self.model.backward_cell(torch.cat((self.model.embedding(words), states), dim=1)))

    def first_ahead(self, words: Tensor) -> Tensor:
        return self.ahead(words, self.model.forward_start.expand(len(words), -1))

    def first_behind(self, words: Tensor) -> Tensor:
        return self.behind(words, self.model.backward_start.expand(len(words), -1))

    def score(self, f: Tensor, b: Tensor) -> Tensor:
        scores: Tensor = self.model.classifier(torch.cat((f, b), dim=1))
        return scores
