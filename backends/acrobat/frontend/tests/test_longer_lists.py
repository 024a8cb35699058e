"""`+=` of lists that the program has as tuples: of tensors of several shapes, and of functions."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees


class OneName(nn.Module):
    """A tuple may have other names: `+=` makes a new one."""

    def forward(self, x):
        xs = [torch.ones(2) * x, torch.ones(3)]
        xs += [torch.ones(4)]
        shape = before = ()
        shape += xs[0].shape
        shape += tuple(xs[1].shape[:1])
        shape += (1, *shape)
        return len(xs), list(shape), len(before), xs[0]


def test_a_list_with_one_name_grows():
    agrees(OneName(), [1.0, -2.0])


class Tensors(nn.Module):
    def forward(self, x):
        xs = [torch.ones(2) * x, torch.ones(3)]
        ys = xs
        xs += [torch.ones(4)]
        return len(ys)


class Functions(nn.Module):
    def forward(self, x):
        layers = [torch.tanh, torch.relu]
        other = layers
        layers += [torch.sigmoid]
        return len(other), layers[0](torch.ones(2) * x)


class GivenToAFunction(nn.Module):
    def longer(self, xs):
        xs += [torch.ones(1)]
        return len(xs)

    def forward(self, x):
        xs = [torch.ones(2) * x, torch.ones(3)]
        return self.longer(xs), len(xs)


@pytest.mark.parametrize("cls", [Tensors, Functions, GivenToAFunction])
def test_a_list_with_two_names_does_not(cls):
    with pytest.raises(CompileError, match="`\\+=` changes a list that may be seen under another name"):
        build(cls(), sample=[1.0, -2.0])
