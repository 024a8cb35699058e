# mypy: ignore-errors
"""`torch.cat` of tensors of several dtypes, and of lists that get what is computed of the tensor that they make."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees

IDS = [[1, 2, 3], [1, 4, 0, 2], [1, 2, 3, 4]]


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.w, self.m = nn.Parameter(torch.randn(3)), nn.Parameter(torch.randn(2, 3))
        self.e = nn.Embedding(5, 5)


class OfAList(Base):
    def forward(self, ids):
        t = torch.tensor(ids)
        return torch.cat([self.w, t]), torch.cat([t, self.w, t]), torch.cat([self.m, torch.tensor([ids[:3], ids[:3]])])


class WrittenOut(Base):
    def forward(self, ids):
        return torch.cat([self.w, torch.tensor([1, len(ids)])]), torch.cat([self.w, torch.tensor([2, 3])])


class Computed(Base):
    def forward(self, ids):
        k = self.m.argmax(0)
        return torch.cat([self.w, k]), torch.cat([k, torch.tensor(ids)]), torch.cat([self.w[:1], k, torch.tensor(ids)])


class Bools(Base):
    def forward(self, ids):
        return torch.cat([torch.tensor(ids), torch.tensor([x > 1 for x in ids])])


class Proposed(Base):
    def forward(self, prompt):
        ids, proposed, ten = torch.tensor(prompt), [], []
        for _ in range(3):
            logits = self.e(torch.cat([ids, torch.tensor(proposed, dtype=torch.long)]))
            proposed.append(logits[-1].argmax().item())
        for _ in prompt:
            ten.append(torch.cat([self.w, torch.tensor(ten)]).sum().item())
        return proposed, ten


class NeverFilled(Base):
    def forward(self, ids):
        xs = []
        joined = torch.cat([torch.tensor(ids), torch.tensor(xs, dtype=torch.long)])
        return torch.cat([self.w, torch.tensor(xs)]), joined, torch.tensor(xs), torch.tensor(xs, dtype=torch.long)


@pytest.mark.parametrize("model", [OfAList, WrittenOut, Computed, Bools, Proposed, NeverFilled])
def test_the_dtype_is_that_of_python(model):
    agrees(model(), IDS)
