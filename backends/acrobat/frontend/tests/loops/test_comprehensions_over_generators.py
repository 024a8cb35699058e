"""List comprehensions over generators that change something while they are computed: since the comprehension looks at its items
only, it makes no difference when they are. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees


class Remembering(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(10, 4)

    def look_up(self, x, known):
        if x not in known:
            known[x] = None if x % 3 == 0 else self.table.weight[x]
        return known[x]

    def forward(self, xs):
        known = {}
        found = [v for v in (self.look_up(x, known) for x in xs) if v is not None]
        return [v.sum() for v in found], len(known)


class Counting(Remembering):
    def forward(self, xs):
        known = {}
        return [len(known) for v in (self.look_up(x, known) for x in xs) if v is not None]


INSTANCES = [[1, 2, 3], [4], [], [6, 7, 7, 1], [3, 3]]


def test_items_are_looked_at_only() -> None:
    agrees(Remembering(), INSTANCES)


def test_what_looks_at_the_changes_is_refused() -> None:
    with pytest.raises(CompileError, match="computing the elements of this iterator changes `known`"):
        build(Counting(), sample=INSTANCES)
