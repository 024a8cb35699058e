"""Parts of lists of modules with bounds that are known at run time only: `for layer in self.layers[:depth]`."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(4)])
        self.blocks = nn.Sequential(*[nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(3)])


def rows(n):
    torch.manual_seed(n)
    return torch.randn(n, 6)


ROWS = [rows(3), rows(1), rows(5), rows(2)]


def walked(self, x):
    h = x.mean(0)
    for layer in self.layers[: len(x)]:
        h = torch.tanh(layer(h))
    return h


def numbered(self, x):
    h = x.mean(0)
    for i, layer in enumerate(self.layers[min(len(x), 3) - 1 :], 2):
        h = torch.tanh(layer(h)) * i
        if h.sum() > 0:
            break
    return h, len(self.layers[len(x) :]), 1 if self.layers[len(x) - 1 : 2] else 0


def backwards(self, x):
    h = x.mean(0)
    for layer in reversed(self.layers[: len(x)]):
        h = layer(h)
    return h


def called(self, x):
    return self.blocks[: len(x)](x.mean(0)), self.blocks[-len(x) :](x)


def beside_lists(self, x):
    h = x.mean(0)
    for layer, row in zip(self.layers[: len(x) + 1], x, strict=False):
        h = torch.tanh(layer(h) + row)
    for row, (i, layer) in zip(x[1:], enumerate(self.layers[1 : len(x)]), strict=False):
        h = torch.tanh(layer(h) * i + row)
    return h


def of_a_list(self, x):
    h = x.mean(0)
    for layer in list(self.layers)[: len(x)]:
        h = layer(h)
    return torch.stack([layer(h) for layer in self.layers[: len(x)]]).sum(0)


WORK = [walked, numbered, backwards, called, beside_lists, of_a_list]


@pytest.mark.parametrize("forward", WORK)
def test_as_in_pytorch(forward):
    agrees(with_forward(Model(), forward), ROWS)


def test_in_generated_code(codegen, tmp_path):
    agrees_natively(with_forward(Model(), beside_lists), ROWS, codegen, tmp_path)


def returned(self, x):
    return self.layers[: len(x)]


def with_a_step(self, x):
    return [layer(x).sum() for layer in self.layers[: len(x) : 2]]


def called_list(self, x):
    return self.layers[: len(x)](x)


@pytest.mark.parametrize("forward", [returned, with_a_step, called_list])
def test_what_is_refused(forward):
    with pytest.raises(CompileError):
        agrees(with_forward(Model(), forward), ROWS)
