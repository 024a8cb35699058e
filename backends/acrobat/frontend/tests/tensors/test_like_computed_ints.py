"""Tensors made like computed ints, such as `argmax` gives, are tensors of ints, and computed ints are counted."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward


def filled(self, x):
    labels, first = x.argmax(-1), x[:1].argmax(-1)
    return torch.full_like(labels, -1), torch.zeros_like(labels), torch.ones_like(first), torch.full_like(first, 7)


def unsure_ones_marked(self, x):
    confidence, labels = x.softmax(-1).max(dim=-1)
    return torch.where(confidence > 0.4, labels, torch.full_like(labels, -1)), torch.zeros_like(labels, dtype=torch.float)


def counted(self, x):
    labels = x.argmax(-1)
    load = torch.bincount(labels, minlength=4).float() / len(x)
    return load, torch.bincount(labels, weights=x[:, 0], minlength=4), torch.bincount(x[0].argsort())


@pytest.mark.parametrize("forward", [filled, unsure_ones_marked, counted])
def test_as_in_eager_pytorch(forward):
    torch.manual_seed(0)
    agrees(with_forward(nn.Module(), forward), [torch.randn(n, 4) for n in (3, 1, 5)])
