"""Attributes of the model that a call assigns to while an argument is the tensor that they had, and what is said of attributes
without a value."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

NUMBERS = [[3, 1, 2], [1], [4, 4, 1]]


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(8, 4)
        self.cell = nn.Linear(4, 4)
        self.n = 0

    def step(self, n, parent):
        self.state = torch.tanh(self.cell(self.state)) + parent
        return parent + self.emb.weight[n]

    def nested(self, n, parent):
        if n <= 0:
            return parent
        self.state = self.state * 0.5
        return self.nested(n - 1, self.state) + parent

    def in_place(self, n, parent):
        self.state += 1.0
        return parent + n

    def counted(self, x):
        self.n = self.n + 1
        return x


def stepwise(self, numbers):
    self.state = self.emb.weight[0] * 1.0
    return [self.step(n, self.state) for n in numbers], self.state


def recursively(self, numbers):
    self.state = self.emb.weight[0] * 1.0
    out = []
    for n in numbers:
        out.append(self.nested(n, self.state))
    return out, self.state


@pytest.mark.parametrize("function", [stepwise, recursively])
def test_as_eager(function) -> None:
    agrees(with_forward(Decoder(), function), NUMBERS)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Decoder(), recursively), NUMBERS, codegen, tmp_path)


def changed_in_place(self, numbers):
    self.state = self.emb.weight[0] * 1.0
    return self.in_place(numbers[0], self.state)


def not_begun(self, numbers):
    return self.counted(numbers[0])


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (changed_in_place, r"write `self\.state = self\.state \.\.\.`"),
        (not_begun, "the attribute `n` has no value that an instance gives it before it is read"),
    ],
)
def test_what_is_refused(function, words) -> None:
    with pytest.raises(CompileError, match=words):
        build(with_forward(Decoder(), function), sample=NUMBERS)
