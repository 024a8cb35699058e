"""Models with and without the annotations `phase` and `parallel`, which differ in `forward` or in one method only."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from backends.acrobat import parallel, phase


class Cells(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.start = nn.Parameter(torch.randn(8))
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8)
        self.classifier = nn.Linear(8, 8)

    def words(self, sentence: list[int]) -> list[Tensor]:
        return [self.embedding.weight[word] for word in sentence]

    def scan(self, cell: nn.Linear, xs: list[Tensor]) -> list[Tensor]:
        state: Tensor = self.start
        states: list[Tensor] = []
        for x in xs:
            state = torch.tanh(cell(x + state))
            states.append(state)
        return states

    def last(self, state: Tensor, xs: list[Tensor]) -> Tensor:
        for x in xs:
            state = torch.tanh(self.first(x + state))
        return state

    def classes(self, forwards: list[Tensor], backwards: list[Tensor]) -> list[Tensor]:
        return [self.classifier(f * b) for f, b in zip(forwards, reversed(backwards))]  # noqa: B905


class BiRNN(Cells):
    def forward(self, sentence: list[int]) -> list[Tensor]:
        words = self.words(sentence)
        return self.classes(self.scan(self.first, words), self.scan(self.second, words[::-1]))


class MarkedBiRNN(Cells):
    """As BiRNN, with `phase` at the boundary that the compiler finds by itself, and with `parallel`."""

    def forward(self, sentence: list[int]) -> list[Tensor]:
        words = parallel(self.words(sentence))
        forwards, backwards = parallel(self.scan(self.first, words), self.scan(self.second, words[::-1]))
        forwards, backwards = phase(forwards, backwards)
        return parallel(self.classes(forwards, backwards))


@dataclass(frozen=True)
class Pair:
    question: list[int]
    answer: list[int]


class TwoLoops(Cells):
    """One cell reads the question and then the answer; its last state is classified."""

    def forward(self, pair: Pair) -> Tensor:
        question = self.last(self.start, self.words(pair.question))
        both = self.last(question, self.words(pair.answer))
        return self.classifier(both)


class OneBoundary(Cells):
    """As TwoLoops, but with a boundary before the classifier only."""

    def forward(self, pair: Pair) -> Tensor:
        question = self.last(self.start, self.words(pair.question))
        both = self.last(question, self.words(pair.answer))
        return self.classifier(phase(both))


class EarlyBoundary(Cells):
    """As TwoLoops, but with a boundary between the loops only."""

    def forward(self, pair: Pair) -> Tensor:
        question = phase(self.last(self.start, self.words(pair.question)))
        both = self.last(question, self.words(pair.answer))
        return self.classifier(both)


@dataclass(frozen=True)
class Leaf:
    word: int


@dataclass(frozen=True)
class Node:
    children: list[Leaf | Node]


class Trees(Cells):
    def forward(self, tree: Leaf | Node) -> Tensor:
        return self.classifier(self.encode(tree)[0])

    def encode(self, tree: Leaf | Node) -> tuple[Tensor, Tensor]:
        match tree:
            case Leaf(word):
                x = self.embedding.weight[word]
                return torch.tanh(self.first(x)), torch.sigmoid(self.second(x))
            case Node(children):
                return self.node([self.encode(child) for child in children])

    def node(self, states: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        total = sum(h * c for h, c in states)
        return torch.tanh(self.first(total)), torch.sigmoid(self.second(total))


class MarkedTrees(Trees):
    def forward(self, tree: Leaf | Node) -> Tensor:
        h, _ = phase(self.encode(tree))
        return self.classifier(h)

    def node(self, states: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        total = sum(h * c for h, c in parallel(states))
        return parallel(torch.tanh(self.first(total)), torch.sigmoid(self.second(total)))


class Exits(Cells):
    """Ends in one of several branches, as a tensor decides; one branch has a phase of its own."""

    def forward(self, sentence: list[int]) -> Tensor:
        state = self.last(self.start, self.words(sentence))
        if (state[0] + state[1]).item() > 0:
            return state
        return self.rest(state)

    def rest(self, state: Tensor) -> Tensor:
        state = phase(torch.tanh(self.second(state)))
        if state[0].item() > 0:
            return self.first(state)
        return self.classifier(state)


class LateBranches(Cells):
    """Ends in branches after a boundary; they use what the phase before them has made."""

    def forward(self, sentence: list[int]) -> Tensor:
        states = phase(self.scan(self.first, self.words(sentence)))
        made = [torch.tanh(self.second(state)) for state in states]
        if len(made) > 2:
            middle = made[1]
            return self.classifier(middle) * phase(self.first(middle))
        if len(made) > 1:
            return made[0] + self.classifier(made[1])
        return self.start


class Sideways(Cells):
    """Has work before a boundary whose results are used only after it; no pass may move that work across."""

    def forward(self, sentence: list[int]) -> Tensor:
        words = self.words(sentence)
        state = self.last(self.start, words)
        early = torch.sigmoid(self.second(state))
        doubled = [word * early for word in words]
        late = phase(state)
        products = self.first(early) + self.classifier(late)
        return sum([x * late for x in doubled], products)
