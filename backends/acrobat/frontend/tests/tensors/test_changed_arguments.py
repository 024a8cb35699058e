"""Tensors that a function of the model changes in place, by an assignment to items of its parameter. Against eager PyTorch."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
import torch

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.tests.zoo.check import agrees

HEAD = """import torch
from torch import nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("blank", torch.arange(15).reshape(3, 5))
    def put(self, g, i):
        g[:, 1] = i
        return g
    def scored(self, g, i, s):
        g[:, 1] = i
        return g, s + 1
    def start(self, i):
        g = self.blank.clone().detach()
        g[:, 1] = i
        return g
    def beside(self, g, h):
        g[:, 1] = 3
        return h + 0
    def first(self, g, hs):
        g[:, 1] = 3
        return hs[0] + 0
    def picked(self, g, h):
        g[:, 1] = 3
        return h
    def new_or_not(self, g, x):
        g[:, 1] = 3
        if x.sum() > 0:
            return torch.ones(3, 5)
        return g
    def with_view(self, g):
        g[:, 1] = 3
        return g, g[0]
    def row_before(self, g):
        row = g[0]
        g[:, 1] = 3
        return row
    def forward(self, x):
"""
ROWS = [torch.randn(n, 4, generator=torch.Generator().manual_seed(n)) for n in (1, 2, 3)]
ZEROS = "g = torch.zeros(3, 5)\n"
INTS = "g = torch.zeros(3, 5, dtype=torch.long)\n"

RIGHT = [
    ZEROS + "g = self.put(g, 2)\nreturn g",
    ZEROS + "self.put(g, 2)\nreturn g",
    INTS + "self.put(g, x[0].topk(3)[1])\nreturn g",
    ZEROS + "g = self.put(g, 1)\ng = self.put(g, 2)\ng[0, 0] = 8\nreturn g",
    ZEROS + "for step in range(len(x)):\n    g, x = self.scored(g, step, x)\nreturn g, x",
    "g = self.start(3)\nfor step in range(2):\n    g = self.put(g, step)\nreturn g, self.blank + 0",
    "g = torch.zeros(x.size(0), 5)\nfor step in range(2):\n    g = self.put(g, step)\nreturn g",
    ZEROS + "g = self.new_or_not(g, x)\ng[0, 0] = 8\nreturn g",
    ZEROS + "seen = []\nfor i in range(x.size(0)):\n    g = self.put(g, i)\n    seen.append(g.clone())\nreturn seen",
    "self.g = torch.zeros(3, 5)\nself.put(self.g, 2)\nreturn self.g",
]


@pytest.mark.parametrize("body", RIGHT)
def test_as_in_eager_pytorch(tmp_path: Path, body: str) -> None:
    agrees(load(tmp_path, HEAD + indent(body, "        ") + "\n").M(), ROWS)


REFUSED = [
    "return self.put(x, 2)",  # a tensor of the instance
    "return self.put(self.blank, 2)",  # one of the model
    ZEROS + "h = g\nself.put(g, 2)\nreturn h",
    ZEROS + "h = g[0]\nself.put(g, 2)\nreturn h",
    ZEROS + "hs = [g]\nself.put(g, 2)\nreturn hs",
    ZEROS + "r = self.put(g, 2)\ng[0, 0] = 9\nreturn r",
    ZEROS + "r = self.put(g, 2)\nr[0, 0] = 9\nreturn g",
    ZEROS + "return self.beside(g, g)",  # the other argument shows the change
    ZEROS + "return self.beside(g, g[0])",
    ZEROS + "return self.beside(h=g[0], g=g)",
    ZEROS + "return self.beside(*(g, g[0]))",
    ZEROS + "return self.first(g, [g])",
    ZEROS + "g = self.picked(g, x)\ng[0, 0] = 8\nreturn x",
    ZEROS + "g, h = self.with_view(g)\ng[0, 0] = 8\nreturn h",
    ZEROS + "return self.row_before(g)",
    ZEROS + "seen = []\nfor i in range(x.size(0)):\n    g = self.put(g, i)\n    seen.append(g)\nreturn seen",
    INTS + "h = g[0]\nself.put(g, 2)\nreturn h",
]


@pytest.mark.parametrize("body", REFUSED)
def test_what_is_seen_elsewhere_is_refused(tmp_path: Path, body: str) -> None:
    with pytest.raises(CompileError, match=r"may be seen under another name|sees under another name|an assignment to an item"):
        build(load(tmp_path, HEAD + indent(body, "        ") + "\n").M().eval(), sample=ROWS)
