"""Operations that change a tensor in place whose extent varies, under the only name that it has."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward


def changed(self, x):
    y = x * 2 + 1
    y.mul_(2)
    y.add_(x)
    y.sigmoid_()
    z = torch.zeros_like(x)
    for row in x:
        z.add_(row)
    return y, z


def test_as_in_eager_pytorch():
    torch.manual_seed(0)
    agrees(with_forward(nn.Module(), changed), [torch.randn(n, 4) for n in (3, 1, 5)])


def just_made(self, x):
    count = x.size(0)
    token = torch.empty(1, 1, dtype=torch.long).fill_(2)
    counts = torch.empty(count, dtype=torch.long).fill_(count)
    grid, flags = torch.empty(2, 3, dtype=torch.bool).zero_(), torch.empty(count, dtype=torch.bool).fill_(True)
    rows = torch.empty(count, 3).fill_(2.0)
    rows[0] = 1.0
    return token, counts, grid, flags, torch.empty_like(x).zero_(), x.new_empty(2, 3).fill_(count), rows


def filled_again(self, x):
    counts, grid = torch.empty(x.size(0), dtype=torch.long), torch.empty(2, 2, dtype=torch.bool)
    for i in range(3):
        counts.fill_(i)
        counts[0] = 7
    grid.fill_(True)
    grid[0, 0] = False
    above = x > 0
    above.fill_(False)
    flags = torch.empty(x.size(0), dtype=torch.bool)
    flags.zero_()
    return counts, grid, above, flags


@pytest.mark.parametrize("forward", [just_made, filled_again])
def test_filled_with_a_number(forward):
    agrees(with_forward(nn.Module(), forward), [torch.randn(n, 4) for n in (3, 1, 5)])


def ints_of_two_names(self, x):
    counts = torch.empty(3, dtype=torch.long).fill_(3)
    before = counts
    counts.zero_()
    return before


def mask_of_two_names(self, x):
    above = torch.empty(2, 3, dtype=torch.bool)
    before = above.fill_(True)
    above.zero_()
    return before


def a_view(self, x):
    y = x * 2
    rest = y[1:]
    y.mul_(2)
    return rest


def of_the_instance(self, x):
    x.mul_(2)
    return x


def another_shape(self, x):
    y = x[0].sum() + x[:, 0]
    y.add_(torch.ones(3, 1))
    return y


@pytest.mark.parametrize(
    ("forward", "what"),
    [
        (ints_of_two_names, "may be seen under another name"),
        (mask_of_two_names, "may be seen under another name"),
        (a_view, "may be seen elsewhere"),
        (of_the_instance, "may be seen elsewhere"),
        (another_shape, "keeps its shape and type"),
    ],
)
def test_what_may_be_seen_otherwise_is_refused(forward, what):
    with pytest.raises(CompileError, match=what):
        build(with_forward(nn.Module(), forward), sample=[torch.randn(n, 4) for n in (3, 1, 5)])
