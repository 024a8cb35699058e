"""`isinstance` of lists and dictionaries that several names have while they are changed, and displays with such."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3]]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))


def as_values(self, numbers):
    rows = [[n] for n in numbers]
    other = rows
    rows.append([1])
    return [isinstance(x, (list, tuple)) for x in (rows, other)], isinstance(rows, str), isinstance(max(rows), list)


def as_tests(self, numbers):
    rows = [[n] for n in numbers]
    other = rows
    rows.append([1])
    return (len(other) if isinstance(other, list) else -1), self.weight


def of_dictionaries(self, numbers):
    d = {}
    other = d
    for n in numbers:
        d[n] = 1
    return isinstance(other, dict), 1 if isinstance(other, list) else 2


def or_none(self, numbers):
    rows = list(numbers)
    other = rows if len(numbers) > 1 else None
    rows.append(1)
    if other is not None:
        other.append(7)
    return isinstance(other, list), other is None


def flattened(self, numbers):
    def flat(x):
        return [z for y in x for z in flat(y)] if isinstance(x, list) else [x]

    tree = [numbers[0]]
    inner = tree
    for n in numbers:
        new = [n]
        inner.append(new)
        inner = new
    return flat(tree)


def spread_out(self, numbers):
    d = {n: i for i, n in enumerate(numbers)}
    other = d
    d[50] = 1
    other[60] = 2
    return {**other, 90: 1}, {**d}, other | {1: 1}


@pytest.mark.parametrize("function", [as_values, as_tests, of_dictionaries, or_none, flattened, spread_out])
def test_as_eager(function) -> None:
    agrees(with_forward(Model(), function), NUMBERS)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Model(), as_tests), NUMBERS, codegen, tmp_path)
