"""Pooling whose last window reaches over the end, with gaps in its windows or with edges that do not count, and normalisation
of channels, over extents that are fixed and that vary, against eager PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

IMAGES = {
    "ceil": lambda x: F.max_pool2d(x, 2, ceil_mode=True),
    "ceil of a batch of one": lambda x: F.max_pool2d(x[None], kernel_size=(2, 3), stride=2, ceil_mode=True),
    "no window begins behind the end": lambda x: F.max_pool2d(x, 2, 3, padding=1, ceil_mode=True),
    "dilation": lambda x: F.max_pool2d(x, 2, 1, dilation=(2, 1)),
    "dilation and ceil": lambda x: F.max_pool2d(x, 2, 2, padding=1, dilation=2, ceil_mode=True),
    "mean with ceil": lambda x: F.avg_pool2d(x, 2, ceil_mode=True),
    "mean with ceil and padding": lambda x: F.avg_pool2d(x, (3, 2), 2, padding=1, ceil_mode=True),
    "mean without the padding": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "all of it": lambda x: F.avg_pool2d(x, 3, 2, padding=(1, 0), ceil_mode=True, count_include_pad=False),
    "a divisor": lambda x: F.avg_pool2d(x, 2, divisor_override=3),
}
SEQUENCES = {
    "ceil": lambda x: F.max_pool1d(x, 2, ceil_mode=True),
    "padding": lambda x: F.max_pool1d(x, 3, stride=2, padding=1),
    "dilation": lambda x: F.max_pool1d(x[None], 2, 1, dilation=2),
    "no window begins behind the end": lambda x: F.max_pool1d(x, 2, 3, padding=1, ceil_mode=True),
    "mean with ceil": lambda x: F.avg_pool1d(x, 2, ceil_mode=True),
    "mean with padding": lambda x: F.avg_pool1d(x, 3, 2, padding=1),
    "mean without the padding": lambda x: F.avg_pool1d(x, 3, 2, 1, count_include_pad=False),
    "all of it": lambda x: F.avg_pool1d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
    "modules": lambda x: nn.AvgPool1d(3, 2, padding=1, count_include_pad=False)(x),
}


class Applied(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


class Pools(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.largest = nn.MaxPool2d(3, stride=2, padding=1, dilation=1, ceil_mode=True)
        self.mean = nn.AvgPool2d(2, 2, 0, True, False)
        self.steps = nn.MaxPool1d(2, ceil_mode=True)

    def forward(self, x: Any) -> Any:
        return self.largest(x), self.mean(x), self.steps(x[0])


def images(*sizes: tuple[int, int]) -> list[Any]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(2, height, width, generator=generator) - 2.0 for height, width in sizes]


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("sizes", [[(5, 6), (5, 6)], [(5, 6), (6, 5), (3, 7), (4, 4)]], ids=["fixed", "varying"])
def test_images(name: str, sizes: list[tuple[int, int]]) -> None:
    agrees(Applied(IMAGES[name]), images(*sizes))


@pytest.mark.parametrize("name", [n for n in SEQUENCES if n != "modules"])
@pytest.mark.parametrize("sizes", [[(2, 6), (2, 6)], [(2, 6), (2, 5), (2, 3), (2, 4), (2, 7)]], ids=["fixed", "varying"])
def test_sequences(name: str, sizes: list[tuple[int, int]]) -> None:
    function = SEQUENCES[name]
    agrees(with_forward(Pools(), lambda self, x: function(x[0])), images(*sizes))


def test_modules(tmp_path: Path) -> None:
    agrees_natively(Pools().eval(), images((5, 6), (6, 5), (3, 7)), "vm", tmp_path)


class Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.conv = nn.Conv1d(4, 6, 3, padding=1)
        self.norms = nn.ModuleList(
            [nn.GroupNorm(1, 6), nn.GroupNorm(3, 6), nn.BatchNorm1d(6), nn.InstanceNorm1d(6), nn.GroupNorm(6, 6, affine=False)]
        )
        self.known = nn.InstanceNorm1d(6, affine=True, track_running_stats=True)
        self.flat = nn.GroupNorm(2, 2)
        for p in [*self.parameters(), *(b for b in self.buffers() if b.is_floating_point())]:
            nn.init.uniform_(p, 0.2, 1.5)

    def forward(self, x: Any) -> Any:
        y = self.conv(x.t().unsqueeze(0))
        for norm in self.norms:
            y = y + F.gelu(norm(y))
        return y, self.known(y).mean(-1), F.group_norm(y, 2, eps=0.1), self.flat(y[:, :2].unsqueeze(-1))


@pytest.mark.parametrize("lengths", [(3, 3), (2, 5, 3)], ids=["fixed", "varying"])
def test_normalisation_after_a_convolution(lengths: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(6)
    agrees(Normed(), [torch.randn(n, 4, generator=generator) for n in lengths])


def test_normalisation_of_images_that_vary() -> None:
    def forward(self: Any, x: Any) -> Any:
        return self.flat(x.unsqueeze(0)), nn.functional.group_norm(x.unsqueeze(0), 1)

    agrees(with_forward(Normed(), forward), images((3, 4), (4, 2), (2, 5)))
