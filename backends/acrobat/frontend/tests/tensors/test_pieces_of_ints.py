"""`split` and `chunk` of tensors of ints with rows of a known length, along these. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward

GATES = [torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]), torch.tensor([[1.0, 0.0, 2.0]]), torch.ones(3, 3)]


def columns(self, gates):
    where = torch.nonzero(gates)
    row, column = where.split(1, dim=1)
    same_row, same_column = where.chunk(2, dim=1)
    of_sorted = where.sort(0)[0].split(1, dim=1)[0]
    of_places = gates.argsort(1).split(1, dim=1)[0]
    return row, column, same_row, same_column, where.split(5, dim=1)[0], of_sorted, of_places


def test_as_eager() -> None:
    agrees(with_forward(nn.Module(), columns), GATES)


def test_rows_of_a_length_that_is_not_known_are_refused_at_their_line() -> None:
    def of_sorted(self, gates):
        return (gates @ gates.t()).argsort(1).split(1, dim=1)[0]

    with pytest.raises(CompileError, match="`split` of such a tensor of ints is not in the language"):
        build(with_forward(nn.Module(), of_sorted), sample=GATES)
