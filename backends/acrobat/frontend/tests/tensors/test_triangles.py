"""`triu` and `tril` from a diagonal on that is known at run time only, of matrices of fixed and of varying extents."""

# mypy: ignore-errors
from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

INSTANCES = [(torch.randn(n, 3), torch.randn(m, 3), k) for n, m, k in ((2, 4, 0), (3, 3, 1), (1, 2, -1), (4, 2, 5), (2, 3, -4))]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.w = nn.Parameter(torch.randn(3, 3))


def attended(self, given):
    """A decoder's queries, which are the last ones of more keys."""
    x, y, _ = given
    n, m = len(x), len(y)
    seen = torch.ones(n, m, dtype=torch.bool).tril(diagonal=m - n)
    return (x @ y.T).masked_fill(~seen, -1e9).softmax(-1) @ y


def of_each_kind(self, given):
    x, y, k = given
    scores = x @ y.T
    both = torch.stack([self.w, self.w + x[0]])
    nothing = (self.w / 0.0).triu(k)
    return scores.tril(k), torch.triu(scores, k + 1), both.triu(diagonal=k), scores.unsqueeze(0).tril(k), nothing


def of_masks(self, given):
    x, y, k = given
    above = x @ y.T > 0
    return above.tril(k), (self.w > 0).triu(k), torch.ones(len(x), len(x)).triu(-k) == 0


FORWARDS = [attended, of_each_kind, of_masks]


@pytest.mark.parametrize("forward", FORWARDS)
def test_as_in_eager_pytorch(forward):
    agrees(with_forward(Model(), forward), INSTANCES)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Model(), attended), INSTANCES, codegen, tmp_path)


def of_a_row(self, given):
    return self.w[0].tril(given[2])


def test_a_triangle_of_a_row_is_refused() -> None:
    with pytest.raises(CompileError, match="a triangle is one of a matrix"):
        build(with_forward(Model(), of_a_row), sample=INSTANCES)
