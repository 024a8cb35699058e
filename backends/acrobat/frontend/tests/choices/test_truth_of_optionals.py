"""`if last and last.kind == kind`, where `last` is None at first: its attributes are read only if it is an object."""

# mypy: ignore-errors
from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3]]


@dataclass
class Span:
    first: int
    last: int
    kind: str


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def spans(self, numbers):
        span = None
        for i, n in enumerate(numbers):
            kind = "odd" if n % 2 else "even"
            if span and span.last + 1 == i and span.kind == kind:
                span.last = i
                continue
            if span:
                yield span
            span = Span(i, i, kind)
        if span:
            yield span


def counted(self, numbers):
    last, count = None, 0
    for i, n in enumerate(numbers):
        if last and last.kind == "odd":
            count += 1
        last = Span(i, i, "odd" if n % 2 else "even")
    return count


def one_of_several(self, numbers):
    last, count = None, 0
    for i, n in enumerate(numbers):
        if not (last and last.kind in ("odd", "none")) or n > 4:
            count += 1
        last = Span(i, i, "odd" if n % 2 else "even")
    return count


def changed(self, numbers):
    last, count = None, 0
    for i, n in enumerate(numbers):
        if last and last.last + 1 == i and last.kind == "odd":
            count += 1
            last.last = i
        else:
            last = Span(i, i, "odd" if n % 2 else "even")
    return count


def joined(self, numbers):
    return [(s.first, s.last, s.kind) for s in self.spans(numbers)], self.weight


@pytest.mark.parametrize("function", [counted, one_of_several, changed, joined])
def test_as_eager(function) -> None:
    agrees(with_forward(Model(), function), NUMBERS)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Model(), joined), NUMBERS, codegen, tmp_path)
