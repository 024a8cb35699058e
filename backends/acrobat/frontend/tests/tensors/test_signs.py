"""The sign of zero, which `1 / x` shows: a tensor that is made of a number has that number's sign."""

# mypy: ignore-errors

from __future__ import annotations

import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees


class Zeros(nn.Module):
    def forward(self, number):
        t = torch.tensor([number, 1.0])
        changed = torch.ones(3)
        changed[1] = number
        changed[2] = t[0]
        filled = torch.ones(2).fill_(number)
        made = [t, torch.sqrt(t), changed, filled, torch.full((2,), number), torch.full_like(t, number), torch.tensor(number)]
        return tuple(1 / x for x in made), t.rsqrt(), 1 / -t


def test_the_sign_of_zero_stays():
    agrees(Zeros(), [-0.0, 0.0, 4.0])
