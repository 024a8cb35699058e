"""Tensors of which a loop or a branch changes an extent that is fixed before it, beside one that varies."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

GIVEN = [torch.randn(n, 4, generator=torch.Generator().manual_seed(n)) for n in (3, 1, 5, 2)]


def beam(self, x):
    """A beam of three, of which fewer are left in each round, each with a copy of the instance."""
    states = x.unsqueeze(0).expand(3, len(x), 4)
    scores = torch.tensor([0.5, 1.5, 2.5])
    total = x.sum(0) * 0
    for i in range(len(x)):
        total = total + (states * scores[:, None, None]).sum((0, 1))
        keep = [k for k in range(len(scores)) if k != i]
        states, scores = states[keep], scores[keep]
    return total, states.size(0), scores


def chosen(self, x):
    y = torch.stack([x, x + 1])
    if len(x) > 2:
        y = torch.stack([row.t() for row in (x, x * 2, x * 3)]).transpose(1, 2)
    return y, y.sum(0), y.size(0)


def other_way_round(self, x):
    """The extent that varies first comes after the one that is fixed."""
    y = x.t()
    if len(x) > 2:
        y = x[:3] @ x.t()
    return y, y.sum(1), y.size(0)


def columns_added(self, x):
    """Both extents vary after the first round, and each adds a column to the rows that it keeps."""
    found = torch.zeros(4, 1)
    for step in range(len(x)):
        rows = [i for i in range(found.size(0)) if (i + step) % 4 != 0]
        found = torch.cat([torch.zeros(len(rows), 1) + step, found[rows], found[rows] * 2], dim=1) + 1
        if found.size(0) == 1:
            break
    return found, found.sum(0), found.t()


def joined_lists(self, x):
    """The outer list of what `cat` of a list gives is along the second dimension."""
    copies = [x + i for i in range(len(x))]
    whole = x[:, :3]
    for i in range(len(x)):
        whole = torch.cat(copies[: i + 1], dim=1) if i % 2 else whole.t()[1:].t()
    return whole, whole.sum(0), torch.cat([whole, x], dim=1)


def lists_of_several_extents(self, x):
    """The first elements of the lists have extents that are fixed, others have others."""
    found, states, seen = [], [], {}
    found.append(torch.zeros(2, 4))
    found.append(torch.ones(2, 3) * x[0, 0])
    found.append(x[:, :2])
    state = x[:1]
    for i in range(len(x)):
        states.append((i, state.t()))
        seen[i] = state
        state = torch.cat([state, x[i : i + 1]])
    k = len(x) % 3
    return found[k], found[k].sum(0), states, states[-1][1].sum(1), seen[len(x) - 1], torch.cat([*found[:1], x])


@pytest.mark.parametrize("forward", [beam, chosen, other_way_round, columns_added, joined_lists, lists_of_several_extents])
def test_as_in_eager_pytorch(forward):
    agrees(with_forward(nn.Module(), forward), GIVEN)


def test_in_generated_code(tmp_path):
    agrees_natively(with_forward(nn.Module(), beam), GIVEN, "vm", tmp_path)
