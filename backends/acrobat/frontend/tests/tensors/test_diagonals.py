"""Diagonals and triangles of matrices whose extents vary."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward


def diagonals(self, x):
    scores = x @ x.t()
    beside = torch.diagonal(scores, 1), scores.diagonal(offset=-1).sum()
    return scores.diagonal(), torch.trace(scores), torch.diag(scores), beside, x.diagonal()


def diagonal_matrices(self, x):
    degree = (x @ x.t() > 0).float().sum(1) - 1
    return torch.diag(x[:, 0]), torch.diag_embed(x[:, 1]), torch.diag(degree.pow(-0.5))


def with_loops(self, x):
    n = len(x)
    adjacency = torch.zeros(n, n)
    for i in range(n - 1):
        adjacency[i, i + 1] = 1.0
    adjacency.fill_diagonal_(2)
    return adjacency @ x


def pairs(self, x):
    n = x.size(0)
    first, second = torch.triu_indices(n, n, offset=1)
    lower = torch.tril_indices(n, n)
    scores = x @ x.t()
    return x[first] - x[second], scores[first, second], scores[lower[0], lower[1]].sum()


@pytest.mark.parametrize("forward", [diagonals, diagonal_matrices, with_loops, pairs])
def test_as_in_eager_pytorch(forward):
    torch.manual_seed(0)
    agrees(with_forward(nn.Module(), forward), [torch.randn(n, 4) for n in (3, 1, 5)])
