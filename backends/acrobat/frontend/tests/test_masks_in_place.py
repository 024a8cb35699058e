"""Masks that the model makes and changes, as of what was visited, and by which it changes other tensors."""

# mypy: ignore-errors
from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward


def visited_in_order(self, points):
    """A mask that is changed stays the name's own where it serves as an index."""
    visited = torch.zeros(points.shape[0], dtype=torch.bool)
    tour = []
    while not visited.all():
        scores = points.sum(dim=1)
        scores[visited] = -math.inf
        chosen = scores.argmax().item()
        visited[chosen] = True
        tour.append(chosen)
    return tour


def rows_by_a_mask(self, points):
    kept = torch.zeros(points.shape[0], dtype=torch.bool)
    kept[-1] = True
    rows = points * 2
    rows[kept] = 0.5
    kept[0] = True
    chosen = rows[kept]
    kept[0] = False
    rows[kept] = points[0] + 1
    return rows, chosen, kept


def of_fixed_extent(self, points):
    mask = torch.zeros(3, dtype=torch.bool)
    mask[points.shape[0] - 1] = True
    row = points[0] + 1
    row[mask] = -math.inf
    mask[0] = True
    return row, mask


@pytest.mark.parametrize("forward", [visited_in_order, rows_by_a_mask, of_fixed_extent])
def test_as_in_eager_pytorch(forward):
    torch.manual_seed(0)
    instances = [torch.randn(n, 3) for n in (2, 1, 3)]
    module = with_forward(nn.Module(), forward)
    agrees(module, instances)


def seen_under_another_name(self, points):
    mask = torch.zeros(points.shape[0], dtype=torch.bool)
    other = mask
    chosen = points[mask]
    mask[0] = True
    return chosen, other


def test_a_mask_that_has_another_name_is_not_changed():
    with pytest.raises(CompileError, match="changes a tensor that may be seen under another name than `mask`"):
        build(with_forward(nn.Module(), seen_under_another_name), sample=[torch.randn(n, 3) for n in (2, 1)])
