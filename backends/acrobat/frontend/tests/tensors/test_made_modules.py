"""Modules of PyTorch's without weights that a function makes where it uses them."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees

torch.manual_seed(0)
SAMPLE = [(torch.randn(4), n) for n in (0, 1, 2)]


class Making(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 4)

    def used_at_once(self, x, n):
        return nn.Softmax(dim=-1)(self.linear(x))

    def named(self, x, n):
        act = nn.LeakyReLU(0.25)
        return act(self.linear(act(x)))

    def of_others(self, x, n):
        return nn.Sequential(nn.Tanh(), nn.ELU(alpha=0.5))(self.linear(x))

    def losses(self, x, n):
        return nn.CrossEntropyLoss()(self.linear(x), torch.tensor(n)), nn.CosineSimilarity(dim=0)(x, self.linear(x))

    def chosen(self, x, n):
        return {0: nn.ReLU, 1: nn.Tanh, 2: nn.Identity}[n]()(x) + (nn.ReLU if n else nn.Sigmoid)()(x)

    def forward(self, g):
        return getattr(self, self.way)(*g)


@pytest.mark.parametrize("way", ["used_at_once", "named", "of_others", "losses", "chosen"])
def test_as_in_eager_pytorch(way):
    model = Making()
    model.way = way
    agrees(model, SAMPLE)


class Weights(Making):
    def forward(self, g):
        return nn.Linear(4, 4)(g[0])


class Drops(Making):
    """A new module is in training mode."""

    def forward(self, g):
        return nn.Dropout(0.5)(g[0])


class OfRunTime(Making):
    def forward(self, g):
        return nn.LeakyReLU(0.1 * g[1])(g[0])


class OfAnotherModule(Making):
    def forward(self, g):
        return nn.Sequential(self.linear, nn.Tanh())(g[0])


class OfItsOwn(Making):
    def forward(self, g):
        return Making()(g)


REFUSED = {
    Weights: "a module with weights (Linear) is made while the model runs",
    Drops: "dropout in training mode",
    OfRunTime: "a module is made here with an argument that is no constant",
    OfAnotherModule: "a module is made here with an argument that is no constant",
    OfItsOwn: "a module (Making) is made while the model runs",
}


@pytest.mark.parametrize("cls", REFUSED, ids=lambda c: c.__name__)
def test_what_could_not_be_the_same_is_refused(cls):
    with pytest.raises(CompileError) as error:
        build(cls(), sample=SAMPLE)
    assert REFUSED[cls] in str(error.value)
