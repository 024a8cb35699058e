"""`flatten` and `view` of images whose height and width vary, behind the dimensions of the batch and of the channels."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(2, 3, 3, padding=1)


def channels(self, x):
    y = self.conv(x.unsqueeze(0))
    return y.flatten(2), y.flatten(2).max(dim=2)[0], y.flatten(1), y.flatten(), y.flatten(0, 1).flatten(1).t()


def viewed(self, x):
    y = self.conv(x.unsqueeze(0))
    b, c, h, w = y.shape
    return y.view(b, c, -1), y.view(b, c, h * w).transpose(1, 2), y.reshape(1, 3, -1).softmax(-1)


def channels_last(self, x):
    y = self.conv(x.unsqueeze(0)).permute(0, 2, 3, 1)
    return y.flatten(1, 2), y.flatten(2), y.reshape(1, -1, 3), y.unsqueeze(3).flatten(1, 2), y.flatten(1)


def rows_first(self, x):
    y = x.permute(1, 0, 2)
    return y.flatten(1), y.unsqueeze(2).flatten(2), y.flatten(0, 1)


def images(*sizes):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(2, *size, generator=generator) for size in sizes]


@pytest.mark.parametrize("forward", [channels, viewed, channels_last, rows_first])
def test_as_eager(forward):
    agrees(with_forward(Images(), forward), images((3, 2), (1, 3), (2, 2), (4, 1)))


def test_an_image_is_not_cut_elsewhere():
    model = with_forward(Images(), lambda self, x: self.conv(x.unsqueeze(0)).view(1, -1, 3))
    with pytest.raises(CompileError, match="several extents vary is not reshaped so"):
        build(model, sample=images((3, 2), (2, 3)))
