"""Calls that stand as statements, of functions that fill a dictionary which they are given."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

CELLS = [{"a": "b", "b": "c"}, {"a": "a"}, {"x": "y"}, {"a": "b", "b": "a", "c": "b"}]


class Sheet(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.weight = nn.Parameter(torch.randn(3, 4))

    def cell(self, name, cells, memo, active):
        if name in memo:
            return memo[name]
        if name in active:
            return self.weight[0]
        other = cells.get(name)
        value = self.weight[1] if other is None else self.cell(other, cells, memo, active | {name}) + self.weight[2]
        memo[name] = value
        return value


def filled(self, cells):
    memo = {}
    for name in cells:
        self.cell(name, cells, memo, frozenset())
    return {name: memo[name] for name in cells}


def filled_with_sets(self, cells):
    memo = {}
    for name in cells:
        self.cell(name, cells, memo, set())
    return sum(memo.values()), len(memo)


@pytest.mark.parametrize("function", [filled, filled_with_sets])
def test_as_eager(function) -> None:
    agrees(with_forward(Sheet(), function), CELLS)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Sheet(), filled), CELLS, codegen, tmp_path)
