"""Encoder and decoder with attention (Bahdanau, Cho and Bengio 2015), in the form of Luong, Pham and Manning (2015): a GRU
reads the source, another one writes the target, and each of its states looks at all states of the source (their "global"
attention with the "general" score) before the next word is chosen.

Decoding is greedy: the best word is the next input. So the instance waits for every word, and how many there are is decided by
the tensors: the sentence ends with the word `END`, at the latest after `longest` words.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

END = 0
"""The word that ends a target sentence; it is also what the decoder reads before the first word."""


class GRU(nn.Module):
    """A gated recurrent unit (Cho et al. 2014)."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.update = nn.Linear(2 * hidden, hidden)
        self.reset = nn.Linear(2 * hidden, hidden)
        self.candidate = nn.Linear(2 * hidden, hidden)

    def forward(self, x: Tensor, state: Tensor) -> Tensor:
        both = torch.cat((x, state))
        z = torch.sigmoid(self.update(both))
        r = torch.sigmoid(self.reset(both))
        candidate = torch.tanh(self.candidate(torch.cat((x, r * state))))
        return state + z * (candidate - state)


class Seq2Seq(nn.Module):
    """`forward(sentence)` gives the words of the target, without `END`. `sentence` has at least one word."""

    def __init__(self, vocabulary: int, hidden: int, targets: int, longest: int) -> None:
        super().__init__()
        self.longest = longest
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.target_embedding = nn.Embedding(targets, hidden)
        self.start = nn.Parameter(torch.empty(hidden))
        self.encoder = GRU(hidden)
        self.decoder = GRU(hidden)
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.combine = nn.Linear(2 * hidden, hidden)
        self.output = nn.Linear(hidden, targets)

    def forward(self, sentence: list[int]) -> list[int]:
        states = self.encode(sentence)
        memory = torch.stack(states)
        state = states[-1]
        word = END
        words = []
        for _ in range(self.longest):
            state = self.step(self.decoder, self.target_embedding.weight[word], state)
            word = int(torch.argmax(self.classify(state, self.attend(memory, state)), dim=-1))
            if word == END:
                break
            words.append(word)
        return words

    def encode(self, sentence: list[int]) -> list[Tensor]:
        state: Tensor = self.start
        states = []
        for word in sentence:
            state = self.step(self.encoder, self.embedding.weight[word], state)
            states.append(state)
        return states

    def step(self, cell: GRU, x: Tensor, state: Tensor) -> Tensor:
        return cell(x, state)

    def attend(self, memory: Tensor, state: Tensor) -> Tensor:
        """The mean of the source's states, weighted by how well each fits the decoder's state: [words, hidden] to [hidden]."""
        weights = torch.softmax(memory @ self.query(state), dim=-1)
        return weights @ memory

    def classify(self, state: Tensor, context: Tensor) -> Tensor:
        """The scores of all target words."""
        return self.output(torch.tanh(self.combine(torch.cat((context, state)))))

    def scores(self, sentence: list[int]) -> list[Tensor]:
        """For each choice of `forward`, the end included: the scores of all target words, [targets]. For verification."""
        states = self.encode(sentence)
        memory, state = torch.stack(states), states[-1]
        words = self.forward(sentence)
        rows = []
        for word in [END, *(word for word in words if word != END)][: self.longest]:
            state = self.step(self.decoder, self.target_embedding.weight[word], state)
            rows.append(self.classify(state, self.attend(memory, state)))
        return rows
