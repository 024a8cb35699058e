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


def another_name(self, x):
    y = x * 2
    z = y
    y.mul_(2)
    return z


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
        (another_name, "may be seen under another name"),
        (a_view, "may be seen under another name"),
        (of_the_instance, "may be seen under another name"),
        (another_shape, "keeps its shape and type"),
    ],
)
def test_what_may_be_seen_otherwise_is_refused(forward, what):
    with pytest.raises(CompileError, match=what):
        build(with_forward(nn.Module(), forward), sample=[torch.randn(n, 4) for n in (3, 1, 5)])
