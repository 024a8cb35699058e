"""`linear` with weights that the model computes and whose extents vary, as those that a hypernetwork makes."""

# mypy: ignore-errors
from __future__ import annotations

from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively

D = 4


class Made(nn.Module):
    """All that may vary: `x` has shape (n, 4), `w` (m, 4), `b` (m,), `v` (n,)."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.own = nn.Linear(D, D)
        self.one = nn.Parameter(torch.randn(1))
        self.six = nn.Parameter(torch.randn(6, D))

    def forward(self, s):
        x, w, b, v = s["x"], s["w"], s["b"], s["v"]
        return {
            "both": F.linear(x, w, b),
            "no bias": F.linear(input=x, weight=w),
            "None": F.linear(x, w, None),
            "one row": F.linear(self.own.bias, w, b),
            "matrices": F.linear(self.six.view(2, 3, D), w, bias=b),
            "columns": F.linear(v, x.t(), self.own.bias),
            "vector": F.linear(x, self.own.bias),
            "one bias": F.linear(x, w, self.one),
            "summed over": F.linear(x.t(), torch.outer(b, v), b),
            "only the bias": F.linear(x, self.own.weight, s["four"]),
        }


class Hypernetwork(nn.Module):
    """Makes the weights of a network whose widths the instance gives, from pieces of a fixed size."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Embedding(5, 3)
        self.pieces = nn.Embedding(12, 3)
        self.generator = nn.Linear(6, 8)

    def weights(self, layer, shape):
        total = shape[0] * shape[1] + shape[0]
        pieces, have = [], 0
        while have < total:
            pieces.append(self.generator(torch.cat([self.layers.weight[layer], self.pieces.weight[len(pieces)]])))
            have += 8
        w, b = torch.cat(pieces)[:total].split([shape[0] * shape[1], shape[0]])
        return w.view(*shape) / shape[1] ** 0.5, b

    def forward(self, s):
        sizes = [D, *s["widths"], 1]
        h = s["x"]
        for layer, (before, after) in enumerate(pairwise(sizes)):
            w, b = self.weights(layer, (after, before))
            h = F.linear(h, w, b)
            if layer < len(sizes) - 2:
                h = torch.tanh(h)
        return h.squeeze(-1)


def instance(n, m, widths=()):
    generator = torch.Generator().manual_seed(10 * n + m)
    shapes = {"x": (n, D), "w": (m, D), "b": (m,), "v": (n,), "four": (D,)}
    return {"widths": list(widths), **{name: torch.randn(*s, generator=generator) for name, s in shapes.items()}}


def instances():
    return [instance(2, 3, [3]), instance(4, 1), instance(1, 2, [2, 5, 1]), instance(3, 5, [4, 4]), instance(1, 1, [1])]


@pytest.mark.parametrize("cls", [Made, Hypernetwork])
def test_made_weights(cls):
    agrees(cls(), instances())


def test_natively(codegen, tmp_path):
    agrees_natively(Hypernetwork().eval(), instances(), codegen, tmp_path)


@pytest.mark.parametrize("name", ["w", "b"])
def test_weights_that_do_not_fit_are_an_error_of_the_instance(name):
    interpreter = Interpreter(build(Made(), sample=instances()))
    with pytest.raises(InstanceError):
        interpreter.run({**instance(2, 3), name: instance(2, 2)[name]})
