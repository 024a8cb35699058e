# mypy: ignore-errors
"""Parts of tensors whose size is fixed although their bounds are known at run time only: crops, and features of a `Linear`."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees


class Crops(nn.Module):
    """Crops at a place that a tensor tells: with written bounds, with names for them, around a middle, of several sizes."""

    def __init__(self):
        super().__init__()
        self.size = 3
        self.linear = nn.Linear(2 * 3 * 3, 2)

    def scales(self, image, y, x):
        size = 2
        parts = []
        for _ in range(2):
            pad = size // 2
            part = F.pad(image, (pad, pad, pad, pad))[:, y : y + size, x : x + size]
            if size > 2:
                part = F.avg_pool2d(part, size // 2)
            parts.append(part.reshape(-1))
            size *= 2
        return torch.cat(parts)

    def forward(self, image):
        y, x = int(image[0, 0, 0].abs() * 2) + 1, image[1, 0].argmax().item() // 3 + 1
        bottom, right = y + self.size, self.size + x
        first = self.linear(image[:, y : y + self.size, x : x + self.size].reshape(-1))
        middle = image[..., y - 1 : y + 1, x - 1 : x + 1]
        return first, self.linear(image[:, y:bottom, x:right].flatten()), middle, self.scales(image, y, x)


class Outside(nn.Module):
    def forward(self, image, y):
        return image[y : y + 2, y : y + 2]


class Projections(nn.Module):
    """Nodes of several types in one dictionary, with features of their own number, each type with its projection."""

    def __init__(self):
        super().__init__()
        self.sizes = {"user": 5, "item": 7}
        self.projections = nn.ModuleDict({k: nn.Linear(n, 4) for k, n in self.sizes.items()})

    def forward(self, nodes):
        return {kind: [self.projections[kind](x) for x in xs] for kind, xs in nodes.items()}


def images():
    torch.manual_seed(0)
    return [torch.rand(2, 6, 7) for _ in range(6)]


def test_crops():
    torch.manual_seed(0)
    agrees(Crops(), images())


def test_a_crop_that_is_not_inside_is_an_error_of_the_instance():
    sample = [(torch.randn(5, 5), y) for y in range(4)]
    interpreter = Interpreter(build(Outside(), sample=sample))
    for y in (4, -1):
        with pytest.raises(InstanceError, match="a crop of 2 from"):
            interpreter.run((sample[0][0], y))


def test_a_linear_takes_a_varying_extent_to_be_its_own():
    torch.manual_seed(0)
    model = Projections()

    def graph(users, items, wide=7):
        return {"user": [torch.randn(5) for _ in range(users)], "item": [torch.randn(wide) for _ in range(items)]}

    agrees(model, [graph(1, 2), graph(3, 0), graph(2, 3)])
    with pytest.raises(InstanceError, match="an extent is 6, not 7, as `Linear` takes it"):
        Interpreter(build(model, sample=[graph(1, 2), graph(3, 1)])).run(graph(1, 1, wide=6))


def test_unbinding_the_second_of_two_extents_that_vary():
    class Columns(nn.Module):
        def forward(self, x):
            return [column.sum() for column in (x @ x.t()).unbind(1)]

    agrees(Columns(), [torch.randn(n, 3) for n in (1, 4, 2)])
