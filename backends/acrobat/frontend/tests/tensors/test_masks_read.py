"""Masks whose values the source reads: lists of bools, their length, and masks that choose elements of several dimensions."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward


def listed(self, x):
    of_rows, of_columns = (x[:, 0] > 0).tolist(), (x[0] > 0).tolist()
    assignment = {i + 1: bit for i, bit in enumerate(of_rows)}
    return of_rows, of_columns, [not bit for bit in of_columns], sum(assignment[i + 1] for i in range(len(x)))


def listed_in_rows(self, x):
    bits = (x @ x.t() > 0).tolist()
    edges = [(i, j) for i in range(len(bits)) for j in range(len(bits)) if bits[i][j]]
    return edges, (x > 0).tolist(), [any(row) for row in (x > 1).tolist()], (x.sum() > 0).tolist()


def counted(self, x):
    keep = x[:, 0] > 0
    return keep.sum() / len(keep), len(x[0] > 0)


def of_several_dimensions(self, x):
    scores = x @ x.t()
    row = x.unsqueeze(1)
    return scores[scores > 0].sum(), x[x > 0], x[0][x[0] > 0], row[row[:, :, 0] > 0], x.unsqueeze(0)[x.unsqueeze(0) < 0].numel()


def by_computed_columns(self, x):
    columns = x.argmax(-1)
    return x[torch.arange(len(x)), columns], x[torch.arange(x.size(0)), x.argmin(1)].sum()


@pytest.mark.parametrize("forward", [listed, listed_in_rows, counted, of_several_dimensions, by_computed_columns])
def test_as_in_eager_pytorch(forward):
    torch.manual_seed(0)
    agrees(with_forward(nn.Module(), forward), [torch.randn(n, 4) for n in (3, 1, 5)])


def too_many_dimensions(self, x):
    return x[0][x > 0]


def another_extent(self, x):
    return x.unsqueeze(1)[x[:, :2] > 0]


def behind_others(self, x):
    return x.unsqueeze(0)[:, x > 0]


@pytest.mark.parametrize(
    ("forward", "what"),
    [
        (too_many_dimensions, "a mask of 2 dimensions chooses no parts of a tensor of 1"),
        (another_extent, "a mask of 2 elements chooses among 1 parts of a tensor"),
        (behind_others, "a mask of several dimensions chooses along the first ones here"),
    ],
)
def test_masks_that_do_not_fit_are_refused(forward, what):
    with pytest.raises(CompileError, match=what):
        build(with_forward(nn.Module(), forward), sample=[torch.randn(n, 4) for n in (3, 1, 5)])
