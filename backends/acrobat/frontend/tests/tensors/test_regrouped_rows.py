"""`view` with ints of run time, of rows that come from several dimensions: scores of a beam search, groups of points.
Against eager PyTorch, in the interpreter."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3, 1, 2], [5, 6], [7, 8, 9, 2, 3], [4], [6, 6, 0, 1]]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)


def columns(self, xs):
    return torch.stack([self.e.weight[: len(xs), i % 4] for i in range(len(xs) + 1)])


def in_columns_again(self, xs):
    c = columns(self, xs)
    return c + c.view(-1, 1).sum(1).view(-1, len(xs)), c.reshape(-1).view(-1, len(xs)).softmax(1)


def of_beams(self, xs):
    outs, beams = [], [torch.zeros(len(xs))]
    while len(beams) < 5:
        coverage = torch.stack(beams)
        weights = (coverage.view(-1, 1) * self.e.weight[0]).sum(1).view(-1, len(xs)).softmax(1)
        coverage = coverage.view(-1, len(xs)) + weights
        beams = [coverage[i] for i in range(len(beams))] + [coverage[0], coverage[0] * 2]
        outs.append(coverage.sum())
    return outs, beams


def of_one_extent(self, xs):
    scores = self.e.weight[torch.tensor(xs)].sum(1)
    return scores.view(1, -1).softmax(1), scores.view(-1, len(xs)).sum(0), scores.view(1, len(xs), 1)


def groups_of_points(self, xs):
    x, k = self.e.weight[torch.tensor(xs)], min(len(xs), 2)
    rows = torch.cat([x[:k], x[:k] * 2, x[:k] * 3])
    groups = rows.view(3, k, 4)
    return groups, groups - self.e.weight[:3].view(3, 1, -1), groups.max(1)[0]


@pytest.mark.parametrize("forward", [in_columns_again, of_beams, of_one_extent, groups_of_points], ids=lambda f: f.__name__)
def test_rows_in_groups(forward):
    agrees(with_forward(Model(), forward), LISTS)


def of_a_function(self, xs):
    """What comes from several dimensions is told by another operand: the function does not see how its argument was made."""
    rows, outs, beams = self.e.weight[torch.tensor(xs)], [], [0]
    while len(beams) < 5:
        n = len(beams)
        queries = torch.stack([self.e.weight[i] for i in beams])
        outs.append(scores_of(rows.repeat(n, 1), rows[None].expand(n, -1, -1), queries))
        beams = [*beams, n, n]
    return outs


def scores_of(rows, groups, queries):
    b, t, _ = list(groups.size())
    queries = queries.unsqueeze(1).expand(b, t, 4).contiguous().view(-1, 4)
    return (rows + queries).sum(1).view(-1, t).softmax(1).sum(1)


def test_rows_that_a_function_is_given() -> None:
    agrees(with_forward(Model(), of_a_function), LISTS)
