"""Buffers of bools as masks, whole, by constant indices and by indices of run time. Against eager PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import ModuleChanged
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[1, 2, 3], [4], [2, 2, 0, 1]]


class Masked(nn.Module):
    causal: torch.Tensor

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)
        self.q = nn.Linear(4, 3)
        self.register_buffer("causal", torch.tril(torch.ones(8, 8)).bool())
        self.register_buffer("allowed", torch.tensor([[True, False, True], [False, True, True], [False, False, True]]))
        self.register_buffer("flag", torch.tensor([True, False, True]))
        self.later = torch.triu(torch.ones(8, 8), 1).bool()

    def attention(self, q, k, mask=None):
        scores = q @ k.t()
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        return torch.softmax(scores, -1)


def transitions(self, xs):
    before, tags = 0, []
    for row in self.q(self.e(torch.tensor(xs))):
        row = row.masked_fill(~self.allowed[before], float("-inf"))
        before = row.argmax().item()
        tags.append(before)
    return tags


def causal(self, xs):
    h = self.e(torch.tensor(xs))
    n = len(xs)
    scores = (h @ h.t()).masked_fill(self.causal[:n, :n] == 0, float("-inf"))
    return torch.softmax(scores, -1) @ h


def plain_attribute(self, xs):
    h = self.e(torch.tensor(xs))
    n = h.size(0)
    return torch.softmax((h @ h.t()).masked_fill(self.later[:n, :n], float("-inf")), -1) @ h


def as_argument(self, xs):
    h = self.e(torch.tensor(xs))
    n = h.size(0)
    own = F.scaled_dot_product_attention(h, h, h, attn_mask=self.causal[:n, :n])
    return self.attention(h, h, self.causal[:n, :n]) @ h + self.attention(h, h) @ h + own


def by_constants(self, xs):
    s = self.q(self.e.weight[xs[0]])
    s = torch.where(self.allowed[2], s, torch.zeros(3)) + self.allowed[1].float()
    if self.flag[1]:
        s = s * 2
    if self.flag[2].item():
        s = s * 3
    both = self.allowed[0] & self.allowed[1]
    return s.masked_fill(both | ~self.allowed[1], 0.0), self.allowed.shape[0], self.allowed[0].sum().item()


def single_values(self, xs):
    kept = [self.e.weight[x] for x in xs if self.flag[x % 3]]
    return kept, [t for t in range(3) if self.allowed[xs[0] % 3, t]]


FUNCTIONS = [transitions, causal, plain_attribute, as_argument, by_constants, single_values]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_as_eager(function: Any) -> None:
    agrees(with_forward(Masked(), function), LISTS)


def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Masked(), transitions), LISTS, codegen, tmp_path)


def test_a_change_is_noticed(tmp_path: Path) -> None:
    module: Any = with_forward(Masked(), causal)
    executable = compile(module, sample=LISTS, cache_folder=tmp_path)
    executable.load(module)
    module.causal[0, 1] = True
    with pytest.raises(ModuleChanged, match="`causal`"):
        executable(LISTS)
