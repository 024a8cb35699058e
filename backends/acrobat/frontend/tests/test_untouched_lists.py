"""Lists that a loop would change if a flag of the model said so: they stay empty, and have no type."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees


class Model(nn.Module):
    def __init__(self, trace):
        super().__init__()
        torch.manual_seed(0)
        self.lin = nn.Linear(4, 4)
        self.trace = trace


class OverAList(Model):
    def forward(self, xs):
        h, states, last = torch.zeros(4), [], {}
        for x in xs:
            h = torch.tanh(self.lin(h) + x)
            if self.trace:
                states.append(h)
                last["h"] = h
        if self.trace:
            return h, states, last["h"]
        return h


class WhileSomethingHolds(Model):
    def forward(self, xs):
        h, states, i = torch.zeros(4), [], 0
        while i < len(xs):
            h = torch.tanh(self.lin(h) + xs[i])
            if self.trace and i > 0:
                states.append(h)
            i += 1
            if float(h.sum()) > 3:
                break
        return (h, states) if self.trace else h


class InLoops(Model):
    def forward(self, xs):
        seen, total = [], torch.zeros(4)
        for x in xs:
            for y in xs:
                total = total + self.lin(x * y)
                if self.trace:
                    seen.append(y)
            if self.trace:
                total = total + seen[-1]
        return total


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("model", [OverAList, WhileSomethingHolds, InLoops])
def test_as_in_eager_pytorch(model, trace) -> None:
    agrees(model(trace), [[torch.randn(4) for _ in range(n)] for n in (1, 3, 2)])
