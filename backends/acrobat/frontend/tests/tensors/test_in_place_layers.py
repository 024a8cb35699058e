"""Activations that work in place behind layers of convolutional networks, and on tensors whose extent varies: what eager
PyTorch gives under each name, or a refusal."""

# mypy: ignore-errors
from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.tests.zoo.check import agrees

HEAD = """import torch
import torch.nn.functional as F
from torch import nn
class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.r = nn.Linear(4, 4), nn.ReLU(inplace=True)
    def forward(self, x):
        out = self.a(x)
        return self.r(out)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.own, self.r = nn.Linear(4, 4), nn.Linear(4, 4), Own(), nn.ReLU(inplace=True)
        self.r6, self.swish, self.leaky = nn.ReLU6(True), nn.Hardswish(True), nn.LeakyReLU(0.2, True)
        self.first, self.drop = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 4)), nn.Dropout(0.5)
    def same(self, t):
        return t
    def kept(self, t):
        self.seen = t
        z = self.a(t)
        self.last = z
        return self.r(z)
    def forward(self, x, n):
"""

RIGHT = [
    "a, b = self.a(x).chunk(2, dim=1)\nself.r(a)\nreturn a + b",
    "return self.r(self.a(x)) + self.r6(self.a(x) + x) + self.leaky(self.own(x))",
    "y = self.a(x)\nz = self.r(y)\nz += 1\nreturn y + 10 * z",
    "y = self.a(x)\nt = (y, x)\ny.relu_()\nreturn t[0] + y",
    "y = x + 1\nz = self.swish(y)\nw = self.leaky(y)\nreturn y + 10 * z + w",
    "y = self.a(x)\nb, s = self.b(y), y.mean(0)\nself.r(y)\nreturn y * x.size(0) + b + s",
    "y = self.a(x)\ny += x\nz = y\ny += self.r(self.b(x))\nreturn y + 10 * z",
    "y = self.first(self.a(x))\nz = self.a(y)\nw = self.first(z)\nreturn w + 10 * z",
    "y = self.a(x)\nz = self.drop(y)\nself.r(z)\nreturn z + 10 * y",
    "y = self.a(x)\nz = y.clone()\ny.relu_()\nreturn y + 10 * z",
    "y = self.a(x)\nz = (y.clone(), 3)\nF.relu_(y)\nreturn y + 10 * z[0]",
    "t = (self.a(x), self.b(x))\ny = t[0].repeat(1, 1)\nself.r(y)\nreturn t[0] + 10 * y",
    "y = self.a(x)\nF.leaky_relu_(y, 0.3)\nF.elu_(y)\nF.hardtanh_(y, -0.5, 0.5)\ntorch.sigmoid_(y)\nreturn y",
    "y = self.a(x)\ny.add_(x).clamp_(0.0, 6.0)\nz = y.clamp_(max=0.5)\nz.mul_(2.0)\nreturn y",
    "y = self.a(x)\nz = y.t()\nself.r(y)\nreturn z + 10",
    "y = self.a(x)\nm = y > 0\ny.neg_()\nreturn y * m",
    "y = self.a(x)\ng = lambda: y * 2\nself.r(y)\nreturn g()",
    "h = self.a(x) if n > 2 else self.b(x)\nh = self.r(h)\nreturn h",
    "h = self.a(x)\nif n > 2:\n    h = self.b(h)\nreturn self.r(h)",
    "h = self.a(x)\nwhile h.sum() > 0:\n    h = self.r(self.b(h))\n    h -= 5\nreturn self.r(h)",
    "h = self.a(x)\nfor _ in range(n):\n    h = self.r(self.b(h))\n    g = h\n    h += x\n    h = h + g\nreturn h",
    "y = self.a(x)\nfor i in range(n):\n    y = self.r(y)\n    y = self.b(y)\nreturn y",
    "y = self.a(x)\nks = []\nfor i in range(n):\n    self.r(y)\n    ks.append(y)\n    y = self.b(y)\nself.r(y)\nreturn y, ks",
    "ys = []\nfor i in range(n):\n    y = self.a(x) * i\n    self.r(y)\n    ys.append(y)\nreturn ys",
    "y = self.kept(x)\nreturn y + self.last + self.seen",
]
REFUSED = [
    "return self.r(x)",
    "return self.first(x)",
    "y = self.a(x)\nz = y[1:]\nself.r(y)\nreturn z + 10",
    "y = self.a(x)\nz = y.expand(2, -1, -1)\nself.r(y)\nreturn z.sum(0)",
    "y = self.a(x)\nz = y.contiguous()\nself.r(y)\nreturn z",  # a copy where the tensor lies otherwise in memory
    "y = self.a(x)\nz = self.same(y)\nself.r(y)\nreturn z + 10 * y",
    "y = self.a(x)\nys = [y]\nself.r(y)\nreturn ys[n - n]",
    "y = self.a(x)\nfor row in y:\n    self.r(row)\nreturn y",
    "h = self.a(x) if n > 2 else x\nh = self.r(h)\nreturn h",
    "h = x\nfor _ in range(n):\n    h = self.a(h)\nself.r(h)\nreturn h + x",
    "h = self.a(x)\nk = h\nif n > 2:\n    h = self.b(h)\nself.r(h)\nreturn h + 10 * k",
    "h = self.a(x) if n > 2 else self.b(x)\nreturn h[0] + self.r(h)",
    "gs = []\nh = self.a(x)\nfor _ in range(n):\n    h = self.b(h)\n    gs.append(h)\nself.r(h)\nreturn gs",
    "y = self.kept(x)\ny += 1\nreturn y, self.last",
    "y = self.a(x)\nk = y\nfor i in range(n):\n    y = self.r(y)\n    y = self.b(y)\nreturn y + k",
    "y = self.a(x)\nk = y * 2\nfor i in range(n):\n    self.r(y)\n    y, k = k, y\nreturn y + k",
    "y = self.a(x)\nfor i in range(n):\n    self.r(y)\n    if i > 1:\n        self.leaky(y)\n    y = self.b(y)\nreturn y",
]
SAMPLE = [(torch.randn(2 + i % 3, 4), [1, 2, 3, 4, 0][i % 5]) for i in range(6)]


@pytest.mark.parametrize("body", RIGHT)
def test_of_a_varying_extent(tmp_path: Path, body: str) -> None:
    torch.manual_seed(3)
    agrees(load(tmp_path, HEAD + indent(body, "        ") + "\n").M(), SAMPLE, spread=True)


@pytest.mark.parametrize("body", REFUSED)
def test_what_another_name_may_show_is_refused(tmp_path: Path, body: str) -> None:
    with pytest.raises(
        CompileError, match=r"changes a tensor in place that may be seen (elsewhere|under other names)"
    ) as error:
        build(load(tmp_path, HEAD + indent(body, "        ") + "\n").M().eval(), sample=SAMPLE)
    assert len(error.value.problems) == 1


class Block(nn.Module):
    """A residual block, of which the shortcut may change the number of channels."""

    def __init__(self, i, o, stride, activation):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.relu, self.downsample = activation(inplace=True), None
        if stride != 1 or i != o:
            self.downsample = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        residual = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += residual
        return self.relu(out)


class Residual(nn.Module):
    """Blocks of which some are skipped, and behind which one may answer."""

    def __init__(self, activation=nn.ReLU):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, 1, 1, bias=False), nn.BatchNorm2d(4), activation(inplace=True))
        self.blocks = nn.ModuleList([Block(4, 4, 1, activation), Block(4, 6, 2, activation), Block(6, 6, 1, activation)])
        self.heads = nn.ModuleList([nn.Linear(n, 3) for n in (4, 6, 6)])

    def forward(self, image):
        x = self.stem(image.unsqueeze(0))
        taken = []
        for i, block in enumerate(self.blocks):
            if i != 2 or x.mean() > 0.9:
                x = block(x)
                taken.append(i)
            scores = self.heads[i](F.adaptive_avg_pool2d(x, 1).flatten(1))
            if scores.max() > 1.5:
                break
        return scores, taken


class Growing(nn.Module):
    """Layers that take all that came before, and a sum with what is widened again."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU6(inplace=True), nn.MaxPool2d(2), nn.ELU(inplace=True))
        self.norms = nn.ModuleList([nn.BatchNorm2d(4 + 2 * i) for i in range(2)])
        self.convs = nn.ModuleList([nn.Conv2d(4 + 2 * i, 2, 3, padding=1) for i in range(2)])
        self.relu, self.last = nn.ReLU(inplace=True), nn.Conv2d(8, 4, 1)
        self.up = Block(4, 4, 1, nn.Hardswish)
        self.classifier = nn.Sequential(nn.Linear(4, 8), nn.ReLU(True), nn.Dropout(), nn.Linear(8, 3), nn.LeakyReLU(0.1, True))

    def forward(self, image):
        skip = self.stem(image[None])
        features = [skip]
        for norm, conv in zip(self.norms, self.convs, strict=True):
            features.append(conv(self.relu(norm(torch.cat(features, 1)))))
        x = F.relu(self.last(torch.cat(features, 1)), inplace=True)
        y = self.up(x)
        y += skip
        y.relu_()
        return self.classifier(y.mean((2, 3)))


@pytest.mark.parametrize("make", [Residual, lambda: Residual(nn.Hardswish), lambda: Residual(nn.SELU), Growing])
@pytest.mark.parametrize("sizes", [[(8, 8)], [(6, 8), (8, 10), (9, 9)]], ids=["fixed", "varying"])
def test_networks_of_convolutions(make, sizes):
    torch.manual_seed(2)
    model = make()
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            nn.init.normal_(m.running_mean, std=0.3)
    agrees(model.eval(), [torch.randn(3, *sizes[i % len(sizes)]) for i in range(6)])
