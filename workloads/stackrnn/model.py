"""Shift-reduce parser with a StackLSTM (Dyer, Ballesteros, Ling, Matthews and Smith 2015), its LSTMs replaced by RNNs.

Three RNNs summarise the stack, the buffer and the actions taken. The stack is persistent: each element keeps the RNN's state
at its push, so a pop costs nothing. The buffer is read from right to left once, which gives the state of every suffix. Where
both actions are legal the parser waits on their scores; reducing composes the two topmost values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn

from workloads.decisions import decide, split


@dataclass(frozen=True, slots=True)
class Sentence:
    words: list[int]
    key: int


@dataclass(frozen=True, slots=True)
class Empty:
    pass


@dataclass(frozen=True, slots=True)
class Push:
    value: Tensor
    state: Tensor
    below: Stack


Stack: TypeAlias = Empty | Push


class StackRNN(nn.Module):
    """`forward(sentence)` gives the class scores of the finished stack, shape [classes]."""

    def __init__(self, vocabulary: int, hidden: int, classes: int, real: bool) -> None:
        super().__init__()
        self.real = real
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.actions = nn.Embedding(2, hidden)
        self.stack_start = nn.Parameter(torch.empty(hidden))
        self.stack_cell = nn.Linear(2 * hidden, hidden)
        self.buffer_start = nn.Parameter(torch.empty(hidden))
        self.buffer_cell = nn.Linear(2 * hidden, hidden)
        self.action_start = nn.Parameter(torch.empty(hidden))
        self.action_cell = nn.Linear(2 * hidden, hidden)
        self.composition = nn.Linear(2 * hidden, hidden)
        self.summary = nn.Linear(3 * hidden, hidden)
        self.action_scores = nn.Linear(hidden, 2)
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, sentence: Sentence) -> Tensor:
        words = [self.embedding.weight[word] for word in sentence.words]
        stack = self.parse(words, self.suffixes(words, self.buffer_start), Empty(), self.action_start, sentence.key)
        return self.classifier(self.top(stack))

    def suffixes(self, words: list[Tensor], state: Tensor) -> list[Tensor]:
        """The buffer RNN's states, the shortest suffix first: element `n` has read the last `n` words."""
        states = [state]
        for x in reversed(words):
            state = self.step(self.buffer_cell, x, state)
            states.append(state)
        return states

    def parse(self, words: list[Tensor], suffixes: list[Tensor], stack: Stack, history: Tensor, key: int) -> Stack:
        height = 0
        left = len(words)
        for i in range(2 * len(words) - 1):
            reduces = left == 0
            if height > 1 and left > 0:
                p_reduce = self.p_reduce(self.top(stack), suffixes[left], history)
                reduces = decide(p_reduce, 0, 1, split(key, i), self.real) == 1
            if reduces:
                stack = self.reduce(stack)
                history = self.step(self.action_cell, self.actions.weight[1], history)
                height = height - 1
            else:
                stack = self.push(stack, words[len(words) - left])
                history = self.step(self.action_cell, self.actions.weight[0], history)
                height = height + 1
                left = left - 1
        return stack

    def reduce(self, stack: Stack) -> Stack:
        """The stack with its two topmost values composed into one; a stack of fewer than two is returned as it is."""
        match stack:
            case Push(right, _, below):
                match below:
                    case Push(left, _, rest):
                        return self.push(rest, self.compose(left, right))
        return stack

    def push(self, stack: Stack, value: Tensor) -> Stack:
        return Push(value, self.step(self.stack_cell, value, self.top(stack)), stack)

    def top(self, stack: Stack) -> Tensor:
        match stack:
            case Empty():
                return self.stack_start
            case Push(_, state, _):
                return state

    def step(self, cell: nn.Linear, x: Tensor, state: Tensor) -> Tensor:
        return torch.tanh(cell(torch.cat((x, state))))

    def compose(self, left: Tensor, right: Tensor) -> Tensor:
        return torch.tanh(self.composition(torch.cat((left, right))))

    def p_reduce(self, stack: Tensor, buffer: Tensor, history: Tensor) -> Tensor:
        summary = torch.relu(self.summary(torch.cat((stack, buffer, history))))
        return torch.softmax(self.action_scores(summary), dim=-1)[1:2]
