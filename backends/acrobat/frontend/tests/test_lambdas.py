# mypy: ignore-errors
"""Lambdas of the file or of the model's attributes: which one is meant is found by its place in the source."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from backends.acrobat.tests.zoo.check import agrees

ACTIVATIONS = {"relu": F.relu, "twice": lambda x: 2 * x, "swish": lambda x: x * torch.sigmoid(x)}
first, second = (lambda x: x + 1 if x.sum() > 0 else x - 1), (lambda x: (lambda y: y * 3)(x))
clipped = lambda x, low=-1.0, *, high=1.0: x.clamp(low, high)  # noqa: E731


class Table(nn.Module):
    """A table of functions in an attribute, several of them in one line, taken by a string of the instance."""

    def __init__(self):
        super().__init__()
        self.table = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "max": torch.maximum}
        self.scale = 3.0
        self.act = lambda x: x * self.scale

    def forward(self, instance):
        x, ops = instance
        for name, other in ops:
            x = self.table[name](x, other) if name in self.table else ACTIVATIONS[name](x)
        return self.act(x), first(x), second(x), clipped(x, high=0.5)


def test_lambdas():
    torch.manual_seed(0)
    names = ["add", "mul", "max", "relu", "twice", "swish"]
    agrees(Table(), [(torch.randn(3), [(name, torch.randn(3)) for name in names[i:]]) for i in range(6)])
