"""Bidirectional RNN tagger: one Elman RNN reads the sentence forwards, another backwards, and both states of a word are
classified together. A sentence is a list of word ids; it may be empty.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class BiRNN(nn.Module):
    """`forward(sentence)` gives the index of every word's best class."""

    def __init__(self, vocabulary: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.forward_start = nn.Parameter(torch.empty(hidden))
        self.forward_cell = nn.Linear(2 * hidden, hidden)
        self.backward_start = nn.Parameter(torch.empty(hidden))
        self.backward_cell = nn.Linear(2 * hidden, hidden)
        self.classifier = nn.Linear(2 * hidden, classes)

    def forward(self, sentence: list[int]) -> list[Tensor]:
        return [torch.argmax(scores, dim=-1) for scores in self.scores(sentence)]

    def scores(self, sentence: list[int]) -> list[Tensor]:
        words = [self.embedding.weight[word] for word in sentence]
        forwards = self.scan(self.forward_cell, self.forward_start, words)
        backwards = self.scan(self.backward_cell, self.backward_start, words[::-1])
        return [self.classify(f, b) for f, b in zip(forwards, reversed(backwards))]  # noqa: B905

    def scan(self, cell: nn.Linear, state: Tensor, inputs: list[Tensor]) -> list[Tensor]:
        states = []
        for x in inputs:
            state = self.step(cell, x, state)
            states.append(state)
        return states

    def step(self, cell: nn.Linear, x: Tensor, state: Tensor) -> Tensor:
        return torch.sigmoid(cell(torch.cat((x, state))))

    def classify(self, f: Tensor, b: Tensor) -> Tensor:
        return self.classifier(torch.cat((f, b)))
