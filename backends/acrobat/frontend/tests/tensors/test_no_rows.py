"""Results without elements: tensors of ints and bools of an instance without rows have the extents that eager PyTorch gives."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

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
        ordered = *y.sort(1), x.argsort(1, descending=True), *x.topk(2, 1)
        return positive, positive.long(), positive.nonzero(), positive.sum(1, keepdim=True), positive.unsqueeze(1), ordered

    def columns(self, x):
        y = self.l(x)
        signs, whole = (y > 0).long(), self.l(x.sum(0))
        differences = torch.diff(signs, dim=0), torch.diff(signs, dim=1), torch.diff(signs[:, :1], dim=1)
        floats = torch.diff(y[:, :1], dim=1), torch.diff(whole[:1]), torch.cat([y[:, :0] * 2 + 1, y], 1)
        return differences, torch.diff(torch.tensor([[len(x)], [3]]), dim=1), floats, whole[:0] > 0, whole[2:].exp().sum()

    def forward(self, x):
        return self.rows(x), self.columns(x)


def test_results_without_elements_have_the_shapes_of_eager(codegen, tmp_path):
    agrees_natively(Outputs().eval(), ROWS, codegen, tmp_path)


def of_an_adjacency(self, x):
    n = len(x)
    adjacency = torch.zeros(n, n)
    for i in range(n - 1):
        adjacency[i, i + 1] = 1.0
        adjacency[i + 1, i] = 1.0
    later = torch.triu(torch.ones(n, n), 1)
    return adjacency, adjacency.t() @ x, adjacency > 0, later, later.t() @ x, (x @ x.t()).masked_fill(later > 0, -1.0)


def of_scores_in_a_loop(self, x):
    y = torch.ones(len(x) + 2, 3)
    scores = torch.zeros(len(x), len(y))
    for i in range(len(x)):
        for j in range(len(y)):
            scores[i, j] = (x[i] * y[j]).sum()
    for _ in range(len(y)):
        scores = scores + x @ y.t()
    return scores.t() @ x, scores.sum(0)


@pytest.mark.parametrize("forward", [of_an_adjacency, of_scores_in_a_loop])
def test_the_number_of_columns_stays_known(forward):
    agrees(with_forward(nn.Module(), forward), ROWS)


def scores(self, x):
    return x @ torch.ones(len(x) + 2, 3).t()


def mask_in_a_dictionary(self, x):
    return {"mask": x @ torch.ones(len(x) + 2, 3).t() > 0, "sum": x.sum()}


@pytest.mark.parametrize("forward", [scores, mask_in_a_dictionary])
def test_a_result_that_lacks_its_number_of_columns_is_an_error_of_the_instance(forward):
    module = with_forward(nn.Module(), forward)
    interpreter = Interpreter(build(module, sample=ROWS))
    with pytest.raises(InstanceError, match="a result has no rows, which does not say how many columns it has"):
        interpreter.run(ROWS[1])
