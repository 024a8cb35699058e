"""Values that are lists in one place and tuples in another, as the state of a recurrent cell that begins as `2 * [zeros]`; and
instances that are tensors, lists or tuples. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward

SAMPLE = [[1, 2, 3], [4], [2, 2, 0, 1]]


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)
        self.rnn = nn.LSTMCell(4, 5)

    def word(self, x):
        return self.e.weight[x].unsqueeze(0)


def attribute(self, xs):
    self.state = None
    for x in xs:
        if self.state is None:
            self.state = 2 * [self.word(x).new_zeros(1, 5)]
        self.state = self.rnn(self.word(x), self.state)
    return self.state[0]


def begins_as_none(self, xs):
    state = None
    for x in xs:
        if state is None:
            state = [torch.zeros(1, 5)] * 2
        state = self.rnn(self.word(x), state)
    return state[0], state[1]


def begins_as_list(self, xs):
    state = [torch.zeros(1, 5), torch.zeros(1, 5)]
    for x in xs:
        state = self.rnn(self.word(x), state)
    h, c = state
    return h, c, len(state), [s.sum() for s in state]


def in_an_arm(self, xs):
    state = [torch.zeros(1, 5)] * 2
    if len(xs) > 1:
        state = self.rnn(self.word(xs[0]), state)
    return torch.cat(list(state), 1), isinstance(state, tuple)


def as_it_is(self, xs):
    numbers = [len(xs), 2]
    if len(xs) > 1:
        numbers = (xs[0], xs[1])
    return numbers, sum(numbers), numbers[-1], max(numbers), [n + 1 for n in numbers]


def given_on(self, xs):
    numbers, other = [2, 2], (2, 2)
    if len(xs) > 1:
        numbers, other = (xs[0], xs[1]), [xs[0], xs[1]]
    first, *rest = numbers
    return numbers[:1], numbers[::-1], [numbers], {"a": numbers}, first, rest, numbers == other, str(numbers), tuple(numbers)


@pytest.mark.parametrize("function", [given_on, attribute, begins_as_none, begins_as_list, in_an_arm, as_it_is])
def test_as_eager(function: Any) -> None:
    agrees(with_forward(Cells(), function), SAMPLE)


def of_sequences(self, x):
    if isinstance(x, (list, tuple)):
        rows = [torch.relu(part).sum(0) for part in x]
        return torch.stack(rows).sum(0) if rows else torch.zeros(4)
    return x.sum(0)


def test_instances_of_three_kinds() -> None:
    torch.manual_seed(0)
    rows = [torch.randn(n, 4) for n in (1, 3, 2, 5)]
    sample = [*rows, [rows[0]], [rows[1], rows[2]], [], (rows[3], rows[1])]
    agrees(with_forward(Cells(), of_sequences), sample)
