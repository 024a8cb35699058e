"""Results without elements: tensors of ints and bools of an instance without rows have the extents that eager PyTorch gives."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees_natively

ROWS = [torch.tensor([[0.5, -1.0, 2.0], [0.0, 3.0, -0.5]]), torch.zeros(0, 3), torch.tensor([[1.0, -2.0, 0.1]])]


class Outputs(nn.Module):
    """Of `rows` many have none in an instance without rows; those of `columns` have none in any."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.l = nn.Linear(3, 2)

    def rows(self, x):
        y = self.l(x)
        positive = y > 0
        return positive, positive.long(), positive.nonzero(), positive.sum(1, keepdim=True), positive.unsqueeze(1)

    def columns(self, x):
        y = self.l(x)
        signs, whole = (y > 0).long(), self.l(x.sum(0))
        differences = torch.diff(signs, dim=0), torch.diff(signs, dim=1), torch.diff(signs[:, :1], dim=1)
        floats = torch.diff(y[:, :1], dim=1), torch.diff(whole[:1]), torch.cat([y[:, :0] * 2 + 1, y], 1)
        return differences, torch.diff(torch.tensor([[len(x)], [3]]), dim=1), floats, whole[:0] > 0, whole[2:].exp().sum()

    def forward(self, x):
        return self.rows(x), self.columns(x)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_results_without_elements_have_the_shapes_of_eager(codegen, tmp_path):
    agrees_natively(Outputs().eval(), ROWS, codegen, tmp_path)
