"""The highest and lowest along an extent that varies: their values; where they stand is known of one score for each part."""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward

ROWS = [torch.ones(1, 3), torch.arange(12.0).view(4, 3).sin(), torch.arange(6.0).view(2, 3).cos()]


def along_each(self, x):
    least, (highest, _) = x.min(dim=0), torch.max(x, 0)
    each, at = x.min(dim=1)
    spread = torch.max(x, dim=0).values - least.values
    scores = x.sum(1)
    return highest, spread, each, at, x.max(1).indices, scores.min(0).values, scores[scores.min(0).indices], least[0]


def in_a_branch(self, x):
    best = x[0]
    if len(x) > 1:
        best, _ = x.min(0)
    return best


@pytest.mark.parametrize("function", [along_each, in_a_branch], ids=lambda f: f.__name__)
def test_as_eager(function: Any) -> None:
    agrees(with_forward(nn.Module(), function), ROWS)


SEVERAL = {
    "as a result": lambda self, x: tuple(x.max(dim=0)),
    "in a list": lambda self, x: [x.min(dim=0)[1]],
    "as an index": lambda self, x: x[x.max(dim=0)[1]],
}


@pytest.mark.parametrize("name", SEVERAL)
def test_places_of_several_scores(name: str) -> None:
    agrees(with_forward(nn.Module(), SEVERAL[name]), ROWS)
