"""Views of images whose height and width vary, which split or join the channels, against eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Capsules(nn.Module):
    """A convolution, whose channels are the capsules of each place."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(2, 12, 3, padding=1)

    def forward(self, x: Any) -> Any:
        u = self.conv(x.unsqueeze(0))
        _, _, h, w = u.shape
        capsules = u.view(4, 3, h * w).permute(2, 0, 1)
        mixed = u.view(1, 3, 4, h, w).transpose(1, 2).reshape(1, 12, h, w)
        return capsules / (1 + capsules.norm(dim=-1, keepdim=True)), self.conv(x.unsqueeze(0) + mixed[:, :2])


def joined(self: Any, x: Any) -> Any:
    u = self.conv(x.unsqueeze(0))
    _, c, h, w = u.shape
    rest = u.view(2, 2, 3, h * w).sum(2), u.view(1, -1, h * w), u.view(1, 3, -1, h * w)
    return u.view(4, 3, -1), u.reshape(2, c // 2, h * w).softmax(-1), *rest


def kept(self: Any, x: Any) -> Any:
    u = self.conv(x.unsqueeze(0))
    b, c, h, w = u.shape
    rest = u.view(2, -1, h, w).mean(1), u.view(3, 4, h, -1), u.view(3, 4, -1, w)
    return u.view(4, 3, h, w).sum(1), u.view(b, 2, c // 2, h, w), *rest


def channels_last(self: Any, x: Any) -> Any:
    u = self.conv(x.unsqueeze(0)).permute(0, 2, 3, 1)
    h, w = x.shape[1:]
    rest = u.view(1, -1, 3, 4), u.reshape(h, w, 2, 6), u.view(1, h, w, 2, -1), u.permute(0, 1, 3, 2).reshape(h, 3, 4, w)
    return u.view(1, h, w, 3, 4), u.view(h * w, 3, 4), u.view(1, h * w, 3, 4), *rest


def width_first(self: Any, x: Any) -> Any:
    u = self.conv(x.unsqueeze(0)).permute(3, 0, 1, 2)
    w, _, _, h = u.shape
    turned = u.transpose(0, 3)
    return (
        u.reshape(w, 4, 3, h),
        turned.reshape(h, 2, 6, w),
        u.permute(1, 2, 3, 0).reshape(2, 6, h * w),
        turned.reshape(-1, 12, w),
    )


def masks_and_ints(self: Any, x: Any) -> Any:
    u = self.conv(x.unsqueeze(0))
    h, w = x.shape[1:]
    best = u.argmax(1)
    positive = u.view(4, 3, h * w).masked_fill((u < 0).view(4, 3, h * w), 0.0)
    return positive, u.view(4, 3, h, w) * (u > 0).view(4, 3, h, w), best.view(h, w), best.view(1, 1, h * w)


def images(*sizes: tuple[int, int]) -> list[Any]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(2, *size, generator=generator) for size in sizes]


SAMPLE = images((3, 2), (1, 3), (2, 2), (4, 1))


@pytest.mark.parametrize("forward", [Capsules.forward, joined, kept, channels_last, width_first, masks_and_ints])
def test_as_eager(forward: Callable[..., Any]) -> None:
    agrees(with_forward(Capsules(), forward), SAMPLE)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_in_generated_code(codegen: str, tmp_path: Path) -> None:
    agrees_natively(Capsules().eval(), SAMPLE, codegen, tmp_path)


def test_images_without_places() -> None:
    def forward(self: Any, x: Any) -> Any:
        return x.view(1, 2, -1), x.reshape(2, 1, x.size(1) * x.size(2)), x.view(2, 1, x.size(1), x.size(2)).sum((2, 3))

    agrees(with_forward(Capsules(), forward), images((3, 2), (2, 0), (2, 3), (1, 1)))


def by_height(self: Any, x: Any) -> Any:
    return self.conv(x.unsqueeze(0)).view(4, 3, x.size(1))


def as_square(self: Any, x: Any) -> Any:
    return self.conv(x.unsqueeze(0)).view(4, 3, x.size(1) * x.size(1))


def turned(self: Any, x: Any) -> Any:
    return self.conv(x.unsqueeze(0)).view(4, 3, x.size(2), x.size(1))


@pytest.mark.parametrize(
    ("forward", "right", "wrong"),
    [(by_height, (4, 1), (2, 2)), (as_square, (2, 2), (3, 2)), (turned, (3, 3), (3, 2)), (turned, (1, 1), (1, 4))],
)
def test_run_time_extents_are_checked(forward: Callable[..., Any], right: tuple[int, int], wrong: tuple[int, int]) -> None:
    """They must be the tensor's own, or their product. As `turned` shows, eager PyTorch may give another tensor otherwise."""
    model = with_forward(Capsules(), forward)
    program = agrees(model, SAMPLE, images(right))
    with pytest.raises(InstanceError, match="two extents must be equal"):
        Interpreter(program).run(images(wrong)[0])


def test_channels_do_not_move_across_places() -> None:
    model = with_forward(Capsules(), lambda self, x: self.conv(x.unsqueeze(0)).view(4, x.size(1), x.size(2), 3))
    with pytest.raises(CompileError, match="several extents vary is not reshaped so"):
        build(model, sample=SAMPLE)
