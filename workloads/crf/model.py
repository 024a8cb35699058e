"""BiLSTM-CRF (Huang, Xu and Yu 2015; Lample et al. 2016): an LSTM in each direction scores the tags of every word, a matrix
scores pairs of neighbouring tags, and the best path through both is found by the algorithm of Viterbi (1967).

The instance waits once, for the pointers along which the best path is read off backwards.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class LSTM(nn.Module):
    """A cell of long short-term memory (Gers, Schmidhuber and Cummins 2000)."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.input = nn.Linear(2 * hidden, hidden)
        self.forget = nn.Linear(2 * hidden, hidden)
        self.output = nn.Linear(2 * hidden, hidden)
        self.candidate = nn.Linear(2 * hidden, hidden)

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        both = torch.cat((x, h))
        i, f, o = torch.sigmoid(self.input(both)), torch.sigmoid(self.forget(both)), torch.sigmoid(self.output(both))
        c = f * c + i * torch.tanh(self.candidate(both))
        return o * torch.tanh(c), c


class CRF(nn.Module):
    """`forward(sentence)` gives the tag of every word on the best path."""

    def __init__(self, vocabulary: int, hidden: int, tags: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.start = nn.Parameter(torch.empty(hidden))
        self.ahead = LSTM(hidden)
        self.behind = LSTM(hidden)
        self.emission = nn.Linear(2 * hidden, tags)
        self.first = nn.Parameter(torch.empty(tags))
        self.transitions = nn.Parameter(torch.empty(tags, tags))  # [to, from]
        self.last = nn.Parameter(torch.empty(tags))

    def forward(self, sentence: list[int]) -> list[int]:
        if not sentence:
            return []
        emissions = self.emissions(sentence)
        best = self.first + emissions[0]  # the score of the best path that ends in each tag
        pointers = []
        for emission in emissions[1:]:
            paths = self.paths(best)
            pointers.append(torch.argmax(paths, dim=-1))
            best = torch.amax(paths, dim=-1) + emission
        tag = int(torch.argmax(best + self.last, dim=-1))
        tags = [tag]
        for before in [pointer.tolist() for pointer in pointers][::-1]:
            tag = before[tag]
            tags.append(tag)
        return tags[::-1]

    def emissions(self, sentence: list[int]) -> list[Tensor]:
        words = [self.embedding.weight[word] for word in sentence]
        ahead = self.scan(self.ahead, words)
        behind = self.scan(self.behind, words[::-1])
        return [self.emit(f, b) for f, b in zip(ahead, reversed(behind))]  # noqa: B905

    def scan(self, cell: LSTM, inputs: list[Tensor]) -> list[Tensor]:
        h: Tensor = self.start
        c = torch.zeros_like(h)
        states = []
        for x in inputs:
            h, c = self.step(cell, x, h, c)
            states.append(h)
        return states

    def step(self, cell: LSTM, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        return cell(x, h, c)

    def emit(self, f: Tensor, b: Tensor) -> Tensor:
        return self.emission(torch.cat((f, b)))

    def paths(self, best: Tensor) -> Tensor:
        """[to, from]: the score of the best path that ends in the tag `from`, continued with the tag `to`."""
        return self.transitions + best

    def scores(self, sentence: list[int]) -> list[Tensor]:
        """For each word a tensor [tags]: the score of the best path with that tag at that word, which is largest for the tags
        on the best path. For verification; it runs Viterbi's algorithm from both ends."""
        if not sentence:
            return []
        emissions = self.emissions(sentence)
        before: list[Tensor] = [self.first + emissions[0]]
        for emission in emissions[1:]:
            before.append((self.transitions + before[-1]).amax(1) + emission)
        after: list[Tensor] = [self.last]
        for emission in emissions[:0:-1]:
            after.append((self.transitions + (after[-1] + emission)[:, None]).amax(0))
        return [b + a for b, a in zip(before, after[::-1], strict=True)]
