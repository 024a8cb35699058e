"""Lists whose number of elements is known, through loops and in results of functions: tensors of them have a fixed shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter


def window(row: list[int], at: int) -> list[int]:
    seen = []
    for d in (0, 1):
        seen.append(row[at + d])
    return seen


def step(row: list[int], at: int) -> tuple[list[int], int, tuple[int, list[int]]]:
    return window(row, at), at + 1, (at, window(row, 0))


class Walker(nn.Module):
    """The layer takes the rows of two ids, so that their number has to be known."""

    def __init__(self) -> None:
        super().__init__()
        self.ids = nn.Embedding(8, 3)
        self.layer = nn.Linear(6, 4)


class Carried(Walker):
    def forward(self, row: list[int]) -> tuple[Tensor, Tensor]:
        ids, at, x = window(row, 0), 0, torch.zeros(4)
        while at + 2 < len(row):
            x = x + self.layer(self.ids(torch.tensor(ids)).flatten())
            if row[at] == 7:
                break
            ids, at, (_, last) = step(row, at)
            x = x * self.layer(self.ids(torch.tensor(last)).flatten())
        return x, self.layer(self.ids(torch.tensor(ids)).flatten())


class Grown(Walker):
    def forward(self, row: list[int]) -> Tensor:
        ids, x = window(row, 0), torch.zeros(4)
        for i in row:
            x = x + self.layer(self.ids(torch.tensor(ids)).flatten())
            if i > 3:
                ids = [*ids, i]
        return x


class EndsLonger(Walker):
    def forward(self, row: list[int]) -> Tensor:
        ids = window(row, 0)
        for i in row:
            if i == 7:
                ids = [i]
                break
        return self.layer(self.ids(torch.tensor(ids)).flatten())


class OneOfTwo(Walker):
    def some(self, row: list[int]) -> tuple[list[int], int]:
        if row[0] > 3:
            return window(row, 0), 1
        return [row[0]], 2

    def forward(self, row: list[int]) -> Tensor:
        ids, _ = self.some(row)
        return self.layer(self.ids(torch.tensor(ids)).flatten())


def test_a_list_of_known_length_is_carried_and_returned() -> None:
    eager = Carried().eval()
    rows = [[1, 2, 3, 4, 5], [2, 7, 1, 1], [3, 3]]
    interpreter = Interpreter(build(eager, sample=rows))
    for row in rows:
        for got, wanted in zip(interpreter.run(row), eager(row), strict=True):
            np.testing.assert_allclose(got, wanted.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("model", [Grown, EndsLonger, OneOfTwo])
def test_a_length_that_changes_is_not_known(model: Any) -> None:
    """Lists of other lengths are errors of the instance, as in PyTorch."""
    interpreter = Interpreter(build(model().eval(), sample=[[1, 2, 7, 4], [5, 3]]))
    with pytest.raises(InstanceError, match="not 6, as `Linear` takes it"):
        interpreter.run([1, 2, 7, 4])
