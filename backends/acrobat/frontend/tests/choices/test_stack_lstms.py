"""The stack LSTM of parsers: one class keeps the states of a cell, and with each of them something else, which is None in one
stack, a tensor in another, and a tuple in a third."""

# mypy: ignore-errors
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

SIZE = 4
GIVEN = [[1, 2], [0], [3, 3, 1], [2, 2, 4, 2, 0]]


class StackRNN:
    """As in a well-known implementation of the parser of Dyer and others."""

    def __init__(self, cell, initial, empty=None):
        self.cell = cell
        self.s = [(initial, None)]
        self.empty = empty

    def push(self, expr, extra=None):
        self.s.append((self.cell(expr, self.s[-1][0]), extra))

    def pop(self):
        return self.s.pop()[1]

    def embedding(self):
        return self.s[-1][0][0] if len(self.s) > 1 else self.empty

    def __len__(self):
        return len(self.s) - 1


class Filling(StackRNN):
    """The input itself is kept where nothing else is given."""

    def push(self, expr, extra=None):
        self.s.append((self.cell(expr, self.s[-1][0]), extra if extra is not None else expr))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.embedding = nn.Embedding(5, SIZE)
        self.cells = nn.ModuleList([nn.LSTMCell(SIZE, SIZE) for _ in range(3)])
        self.compose = nn.Linear(2 * SIZE, SIZE)
        self.empty = nn.Parameter(torch.randn(SIZE))
        self.starts = nn.Parameter(torch.randn(3, SIZE))

    def start(self):
        return self.starts[0], self.starts[1]

    def fill(self, buffer, words):
        for i in range(len(words) - 1, -1, -1):
            x = self.embedding.weight[words[i]]
            buffer.push(x, (x, i))

    def parse(self, words, stack, buffer, history):
        """Shifts where the states say so, else puts the two on top together; gives the head of each word and the last state."""
        self.fill(buffer, words)
        heads = [-1] * len(words)
        while len(buffer) > 0 or len(stack) > 1:
            score = (stack.embedding() * buffer.embedding()).sum() + history.embedding()[0]
            if len(stack) < 2 or len(buffer) > 0 and score.item() > 0:
                x, i = buffer.pop()
                stack.push(x, (x, i))
                history.push(self.embedding.weight[0])
            else:
                right, left = stack.pop(), stack.pop()
                heads[right[1]] = left[1]
                x = torch.tanh(self.compose(torch.cat([left[0], right[0]])))
                stack.push(x, (x, left[1]))
                history.push(self.embedding.weight[1])
        return heads, stack.pop()[0], history.embedding()


def three_places(self, words):
    stack = StackRNN(self.cells[0], self.start(), self.empty)
    buffer = StackRNN(self.cells[1], self.start(), self.empty)
    history = StackRNN(self.cells[2], self.start(), self.empty)
    return self.parse(words, stack, buffer, history)


def one_cell(self, words):
    stack = StackRNN(self.cells[0], self.start(), self.empty)
    buffer = StackRNN(self.cells[0], self.start(), self.empty)
    history = StackRNN(self.cells[0], self.start(), self.empty)
    return self.parse(words, stack, buffer, history)


def one_comprehension(self, words):
    stack, buffer, history = [StackRNN(cell, self.start(), self.empty) for cell in self.cells]
    return self.parse(words, stack, buffer, history)


def rows_of_weights(self, words):
    cells = (self.cells[0], self.cells[1], self.cells[2])
    stack, buffer, history = [Filling(cell, (h, h * 2), self.empty) for cell, h in zip(cells, self.starts, strict=True)]
    heads, root, state = self.parse(words, stack, buffer, history)
    losses = [(root * state).sum() for head in heads if head >= 0]
    return heads, sum(losses) if losses else None


def tensors_and_none(self, words):
    """The extra of one stack is always None, that of the other one sometimes."""
    a, b = StackRNN(self.cells[0], self.start()), StackRNN(self.cells[1], self.start())
    for w in words:
        x = self.embedding.weight[w]
        a.push(x)
        b.push(x, x * 2 if w > 1 else None)
    found = []
    while len(b):
        extra = b.pop()
        found.append(torch.zeros(SIZE) if extra is None else extra)
    return a.pop() is None, len(a), torch.stack(found).sum(0), a.embedding()


def inputs_or_pairs(self, words):
    """The input itself in one stack, in the other one a tensor and a word."""
    a, b = Filling(self.cells[0], self.start()), Filling(self.cells[0], self.start())
    for w in words:
        a.push(self.embedding.weight[w])
        b.push(self.embedding.weight[w], (a.embedding(), "abcde"[w]))
    text, total = "", torch.zeros(SIZE)
    while len(b):
        x, letter = b.pop()
        text, total = text + letter, total * 0.5 + x * a.pop()
    return text, total


def in_a_list(self, words):
    """Two stacks are in one list, and so of one type; a third one is not."""
    other = StackRNN(self.cells[2], self.start())
    stacks = [StackRNN(self.cells[0], self.start()), StackRNN(self.cells[0], self.start())]
    for i, w in enumerate(words):
        x = self.embedding.weight[w]
        stacks[i % 2].push(x, x + 1)
        other.push(x, i)
    return [s.embedding() if len(s) else x for s in stacks], stacks[0].pop(), other.pop()


def made_by_a_function(self, words):
    def made(cell):
        return StackRNN(cell, self.start(), self.empty)

    return self.parse(words, made(self.cells[0]), made(self.cells[1]), made(self.cells[2]))


FORWARDS = [
    three_places,
    one_cell,
    one_comprehension,
    rows_of_weights,
    tensors_and_none,
    inputs_or_pairs,
    in_a_list,
    made_by_a_function,
]


@pytest.mark.parametrize("forward", FORWARDS, ids=lambda f: f.__name__)
def test_as_in_python(forward: Any) -> None:
    agrees(with_forward(Model(), forward), GIVEN)


def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Model(), rows_of_weights), GIVEN, codegen, tmp_path)
