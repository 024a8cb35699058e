"""A sum without a start value is an error for an empty list, also if its items are computed inside a static block."""

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
