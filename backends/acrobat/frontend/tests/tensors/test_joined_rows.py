"""Rows of a tensor whose first extent varies, several of which become one: pyramidal encoders."""

# mypy: ignore-errors
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.factor = 2
        self.w = nn.Linear(6, 3)


def padded(self, x):
    missing = -len(x) % self.factor
    if missing:
        x = F.pad(x, (0, 0, 0, missing))
    return self.w(x.reshape(x.size(0) // self.factor, -1))


def cut_off(self, x):
    n = x.size(0)
    even = x[: n - n % 2]
    return even.reshape(-1, 6), even.view(n // 2, 2, 3).sum(1), even.reshape(n // 2, 2, -1).mean(1)


def in_three(self, x):
    x = torch.cat([x, x, x])
    return x.view(x.shape[0] // 3, -1), x.reshape(len(x) // 3, -1, 3).sum(0), x.reshape(1, x.size(0) // 3, -1)


CASES = [padded, cut_off, in_three]
INSTANCES = [torch.randn(n, 3, generator=torch.Generator().manual_seed(n)) for n in (2, 3, 8, 5)]


@pytest.mark.parametrize("forward", CASES, ids=[f.__name__ for f in CASES])
def test_as_python(forward: Any) -> None:
    agrees(with_forward(Model(), forward), INSTANCES)


def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Model(), padded), INSTANCES, codegen, tmp_path)


def of_each_part(self, x):
    parts = [self.w(torch.cat([row, row])) for row in x]
    pairs = [row.view(3, 1) * self.w.bias for row in x]
    whole, rows = torch.cat(parts), torch.cat(pairs)
    n = len(parts)
    return whole.view(n, -1) @ self.w.weight, whole.view(1, n, -1), rows.view(len(pairs), -1), rows.view(-1, 9)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_vectors_that_are_joined_are_rows_again(codegen: str, tmp_path: Path) -> None:
    agrees(with_forward(Model(), of_each_part), INSTANCES)
    agrees_natively(with_forward(Model(), of_each_part), INSTANCES, codegen, tmp_path)


def uneven(self, x):
    return x.reshape(x.size(0) // 2, -1)


@pytest.mark.parametrize("rows", [5, 1, 0])
def test_rows_that_are_left_over_are_an_error_of_the_instance(rows: int) -> None:
    program = build(with_forward(Model(), uneven), sample=[x for x in INSTANCES if len(x) % 2 == 0])
    with pytest.raises(InstanceError, match="rows"):
        Interpreter(program).run(torch.zeros(rows, 3))


def of_any_width(self, x):
    return x.reshape(-1, int(x.sum()))


def parted(self, x):
    return x.reshape(2 * x.size(0), -1)


@pytest.mark.parametrize("forward", [of_any_width, parted], ids=["width", "parted"])
def test_rows_of_an_extent_that_is_not_known_are_refused(forward: Any) -> None:
    with pytest.raises(CompileError, match="across the dimension whose extent varies"):
        build(with_forward(Model(), forward), sample=INSTANCES)
