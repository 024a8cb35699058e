"""Convolutions and pooling of images whose height and width vary, interpreted and in generated code, against eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


def images(*sizes: tuple[int, int]) -> list[Any]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(2, height, width, generator=generator) for height, width in sizes]


class Convolved(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.same = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(inplace=True))
        self.wide = nn.Conv2d(2, 2, (2, 3), stride=(2, 1), padding=(1, 2), dilation=(1, 2), bias=False)
        self.small = nn.Conv2d(2, 2, 2)

    def forward(self, x: Any) -> Any:
        y = self.same(x.unsqueeze(0))
        if min(y.shape[-2:]) >= 3:
            y = F.max_pool2d(y, 2)
        pooled = F.adaptive_avg_pool2d(y, 1).flatten(1), y.mean(dim=(2, 3)), F.avg_pool2d(x, 3, 2, 1)
        return pooled, self.wide(x), F.max_pool2d(x, 3, stride=1, padding=1)


def test_both_extents_vary() -> None:
    agrees(Convolved(), images((4, 5), (5, 4), (2, 3), (3, 2)))


def test_the_width_varies() -> None:
    agrees(Convolved(), images((4, 5), (4, 4), (4, 2)))


def test_both_extents_vary_in_generated_code(tmp_path: Path) -> None:
    agrees_natively(Convolved().eval(), images((4, 5), (2, 3), (3, 2)), "vm", tmp_path)


class Sampled(nn.Module):
    """Parts of images, as a detector takes them: the places are fixed, the images are not."""

    def forward(self, x: Any) -> Any:
        steps = (torch.arange(4) + 0.5) / 4
        height, width = x.shape[-2:]
        gy, gx = torch.meshgrid(steps * (3.0 / height), steps * (5.0 / width) - 0.7, indexing="ij")
        grid = torch.stack([gx, gy], dim=-1).unsqueeze(0)
        inside = F.grid_sample(x.unsqueeze(0), grid, align_corners=False)
        return inside.flatten(), F.grid_sample(x.unsqueeze(0), grid, align_corners=True, padding_mode="border").mean((2, 3))


def test_places_of_images_of_varying_extents() -> None:
    agrees(Sampled(), images((4, 5), (5, 4), (2, 3), (3, 2)))
    agrees(Sampled(), images((4, 5), (4, 2), (4, 3)))


def convolved(self: Any, x: Any) -> Any:
    return self.small(x)


def pooled(self: Any, x: Any) -> Any:
    return F.max_pool2d(x, 2)


def over_time(self: Any, x: Any) -> Any:
    return F.max_pool1d(x[0], 2)


def over_time_by_weights(self: Any, x: Any) -> Any:
    return F.conv1d(x[:, 0], self.small.weight[:, :, 0])


@pytest.mark.parametrize("forward", [convolved, pooled, over_time, over_time_by_weights])
def test_a_window_that_is_larger_than_the_image(forward: Callable[..., Any]) -> None:
    """PyTorch has no result without places."""
    model = with_forward(Convolved(), forward)
    program = build(model, sample=images((4, 5), (3, 2), (1, 1)))
    with pytest.raises(InstanceError, match="a window of 2 is larger than the extent of 1"):
        Interpreter(program).run(images((1, 1))[0])


def test_extremes_of_a_shape() -> None:
    def extremes(self: Any, x: Any) -> Any:
        return min(x.shape[-2:]), max(x.shape), max((x.size(1),)), min((len(x), 2.5))

    agrees(with_forward(Convolved(), extremes), images((4, 5), (5, 4), (1, 3)))


def adaptive(self: Any, x: Any) -> Any:
    """Several places of extents that vary, which share rows where the extents are not multiples."""
    y = (
        F.adaptive_avg_pool2d(x.unsqueeze(0), 2).flatten(1),
        F.adaptive_max_pool2d(x, (3, None)),  # type: ignore[arg-type]
        F.adaptive_avg_pool2d(x, (None, 2)),
    )
    return y, F.adaptive_avg_pool1d(x[0], 3), F.adaptive_max_pool1d(x[:1, 0], 2), F.adaptive_avg_pool1d(x[:1], 2)


def statistics(self: Any, x: Any) -> Any:
    of_all = x.std(), x[0].var(unbiased=False), torch.std(x, correction=0), x[:, 0].std()
    return of_all, x.var((0, 1)), x.std(dim=(1, 2), keepdim=True), x.numel(), x[0, :0].numel()


@pytest.mark.parametrize("forward", [adaptive, statistics])
def test_several_places_and_all_elements(forward: Callable[..., Any]) -> None:
    agrees(with_forward(Convolved(), forward), images((4, 5), (5, 4), (1, 3), (2, 2)))
    agrees(with_forward(Convolved(), forward), images((4, 5), (4, 1), (4, 3)))
    agrees(with_forward(Convolved(), forward), images((4, 5), (4, 5)))


def test_several_places_in_generated_code(tmp_path: Path) -> None:
    agrees_natively(with_forward(Convolved(), adaptive), images((4, 5), (5, 4), (1, 3)), "vm", tmp_path)


def test_an_image_without_rows() -> None:
    interpreter = Interpreter(build(with_forward(Convolved(), adaptive), sample=images((4, 5), (3, 2))))
    with pytest.raises(InstanceError, match="a window of 1 is larger than the extent of 0"):
        interpreter.run(torch.zeros(2, 0, 3))
