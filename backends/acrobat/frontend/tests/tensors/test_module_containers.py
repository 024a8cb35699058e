"""Slices of `nn.Sequential`, layers that have names, `reduce` over layers, and the truth of containers of modules."""

# mypy: ignore-errors

from __future__ import annotations

from collections import OrderedDict
from functools import reduce

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward

SAMPLE = [torch.randn(4, generator=torch.Generator().manual_seed(k)) for k in range(3)]


class Own(nn.Sequential):
    def forward(self, x):
        return super().forward(x) + 1.0


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.plain = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.Tanh())
        self.named = nn.Sequential(OrderedDict(first=nn.Linear(4, 4), act=nn.ReLU(), last=nn.Linear(4, 4)))
        self.own = Own(nn.Linear(4, 4), nn.Tanh())
        self.nothing = nn.ModuleList()
        self.deep = nn.Sequential(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 4))


def called(self, x):
    return self.plain[:2](x), self.plain[1:-1](x), self.plain[::2](x), self.plain[4:](x), self.deep[:1](x), self.deep[0][:1](x)


def called_with_names(self, x):
    hidden = self.named[0](x)
    return self.named[1:](hidden), self.named[1:][-1](hidden), len(self.named[:2]), len(self.named)


def walked(self, x):
    for layer in self.named:
        x = layer(x)
    for layer in self.plain[1:]:
        x = layer(x)
    return x


def sliced_twice(self, x):
    body = self.plain[:-1]
    return body[1:](x), body[1:][0](x)


def reduced(self, x):
    def after(h, layer):
        return layer(h) + h.size(-1)

    alone = reduce(lambda left, right: left, self.plain)(x)
    return reduce(after, self.plain, x), reduce(lambda h, layer: layer(h), self.nothing, x), alone


def truths(self, x):
    return 1 if self.nothing else 2, 1 if self.plain[:0] else 2, 1 if self.named else 2, 1 if self.own else 2


@pytest.mark.parametrize("forward", [called, called_with_names, walked, sliced_twice, reduced, truths])
def test_as_in_eager_pytorch(forward):
    agrees(with_forward(Layers(), forward), SAMPLE)


def test_a_slice_of_a_class_with_a_forward_of_its_own_is_not_called():
    with pytest.raises(CompileError, match="this cannot be called"):
        build(with_forward(Layers(), lambda self, x: self.own[:1](x)), sample=SAMPLE)


def of_all_modules(self, x):
    for m in self.deep.modules():
        if type(m) is nn.Linear:
            x = m(x) * m.out_features
    return x, [name for name, m in self.deep.named_modules() if isinstance(m, nn.Tanh)]


def test_modules_and_all_inside():
    agrees(with_forward(Layers(), of_all_modules), SAMPLE)
