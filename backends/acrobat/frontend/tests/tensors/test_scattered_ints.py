"""Tensors of ints and bools that are scattered, added to and searched; tensors like masks; parts whose number stays known."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.tests.zoo.check import agrees, with_forward

INTS = [torch.tensor([3, 1, 2]), torch.tensor([1]), torch.tensor([1, 1, 5, 7, 1])]


def rows(n):
    torch.manual_seed(n)
    return torch.randn(n, 6)


ROWS = [rows(3), rows(1), rows(5)]


def scattered(self, t):
    fixed = torch.zeros(9, dtype=torch.long).scatter(0, torch.arange(t.size(0)), t)
    own = t.new_full((t.size(0) + 2,), 7)
    own.scatter_(0, torch.arange(t.size(0)), t)
    return fixed, own, own.scatter(0, torch.arange(t.size(0)), 5)


def moved_apart(self, t):
    places = (t[1:] % 3 + 1).cumsum(0)
    found = t.new_full((t.size(0) + int((t[1:] % 3).sum()),), 7)
    found[0] = t[0]
    found.scatter_(0, places, t[1:])
    return found


def added(self, t):
    counts = torch.zeros(9, dtype=torch.long)
    counts.scatter_add_(0, t, torch.ones_like(t))
    sums = torch.zeros(9, dtype=torch.long)
    sums.index_add_(0, t, t * 2)
    return counts, sums, sums.index_add(0, t, t, alpha=-1)


def flags(self, t):
    found = torch.zeros(9, dtype=torch.bool)
    found.scatter_(0, t, True)
    return found, found.nonzero().squeeze(1)


def so_far(self, t):
    ordered = t.sort()[0]
    places = torch.searchsorted(ordered, 2), torch.searchsorted(ordered, 2, right=True)
    return t.cummax(0)[0], t.cummax(0)[1], t.cummin(0)[0], places


@pytest.mark.parametrize("forward", [scattered, moved_apart, added, flags, so_far])
def test_ints(forward):
    agrees(with_forward(nn.Module(), forward), INTS)


def several_dimensions(self, t):
    return torch.zeros(2, 9, dtype=torch.long).scatter(1, t[None, :1], 3)


def test_what_is_refused():
    with pytest.raises(CompileError, match="ints in several dimensions"):
        agrees(with_forward(nn.Module(), several_dimensions), INTS)


def like_masks(self, x):
    alive = torch.ones(len(x), dtype=torch.bool)
    hit, all_hit = torch.zeros_like(alive), torch.ones_like(alive)
    where = alive.nonzero(as_tuple=True)[0]
    hit[where[x[where, 0] < 0.1]] = True
    seen = torch.zeros_like(x[:, 0] > 0)
    seen[0] = True
    return hit, all_hit, seen, torch.full_like(seen, True) & seen, torch.full_like(alive, False)


def as_heads(x):
    return x.view(x.size(0), 3, 2).transpose(0, 1)


def grouped_heads(self, x):
    """Attention of six heads, of which two share the keys and the values of one."""
    queries = torch.cat([as_heads(x), as_heads(x)])
    keys, values = (as_heads(x).repeat_interleave(2, dim=0) for _ in range(2))
    weights = (queries @ keys.transpose(1, 2)).softmax(-1)
    return (weights @ values).transpose(0, 1).reshape(x.size(0), -1)


def searched(self, x):
    sums = x[0].softmax(0).cumsum(0)
    places = torch.searchsorted(sums, (torch.arange(4) + 0.5) / 4), torch.searchsorted(sums, 0.5)
    return places, torch.searchsorted(sums, torch.tensor(0.3)), torch.searchsorted(sums, x.sigmoid())


def repeated_list(self, x):
    queries = torch.cat([as_heads(x)] * 2)
    return queries.transpose(0, 1).contiguous().view(len(x), -1), (queries @ queries.transpose(1, 2)).transpose(0, 1).flatten(1)


def appended_shapes(self, x):
    parts = [x[0]]
    for row in x:
        parts += [row.sum().unsqueeze(0), row[:3]]
    parts.extend([x[0, :1], x[0, :2]])
    more = [x[0], x[0, :4]]
    return torch.cat(parts + more), len(parts)


@pytest.mark.parametrize("forward", [like_masks, grouped_heads, searched, repeated_list, appended_shapes])
def test_rows(forward):
    agrees(with_forward(nn.Module(), forward), ROWS)


class Graph(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.register_buffer("edges", torch.combinations(torch.arange(4), 2).t())
        self.weights = nn.Parameter(torch.randn(6))

    def forward(self, x):
        source, target = self.edges
        matrix = torch.zeros(4, 4)
        matrix[source, target] = self.weights.exp()
        matrix = matrix + matrix.t()
        return matrix * x.sum(), source + 1


def test_edges_in_a_buffer():
    agrees(Graph(), ROWS)
