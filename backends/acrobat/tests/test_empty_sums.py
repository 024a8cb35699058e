"""`reduce` without a start value is an error for an empty list, also if its items are computed inside a static block. `sum` of
an empty list of tensors is the number 0, as in Python; where tensors are added to it, it is a tensor of their shape."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import compile
from backends.acrobat.errors import InstanceError


class Bag(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 8)
        self.cell = nn.Linear(8, 8)

    def forward(self, words: list[int]) -> Tensor:
        return reduce(torch.add, [torch.sigmoid(self.cell(self.embedding.weight[word])) for word in words])


def test_empty_sum_inside_a_block(tmp_path: Path) -> None:
    module = Bag()
    executable = compile(module, checked=True, cache_folder=tmp_path)
    with pytest.raises(InstanceError, match="instance 1: the sum of an empty list has no value"):
        executable([[1], []])
    with torch.inference_mode():
        torch.testing.assert_close(executable([[1, 2], [3]]), [module([1, 2]), module([3])])


class Margins(nn.Module):
    def forward(self, xs: list[float]) -> Tensor:
        return sum([torch.tensor(x) for x in xs]) * 2.0 + 1.0  # type: ignore[return-value]


def test_empty_sum_of_numbers_as_tensors(tmp_path: Path) -> None:
    executable = compile(Margins(), checked=True, cache_folder=tmp_path)
    some, none, one = executable([[1.0, 2.0], [], [3.0]])
    assert (some.item(), one.item()) == (7.0, 7.0)
    assert isinstance(none, float) and none == 1.0, "nothing was added: a number, as in Python"


class Children(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 8)
        self.cell = nn.Linear(8, 8)

    def forward(self, words: list[int]) -> Tensor:
        gated = sum([torch.sigmoid(self.cell(self.embedding.weight[word])) for word in words])
        return torch.tanh(self.embedding.weight[0]) + gated


def test_empty_sum_of_vectors(tmp_path: Path) -> None:
    module = Children()
    executable = compile(module, checked=True, cache_folder=tmp_path)
    with torch.inference_mode():
        torch.testing.assert_close(executable([[1, 2], [], [3]]), [module([1, 2]), module([]), module([3])])
