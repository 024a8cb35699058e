"""Buffers of ints as tensors of ints, whole and in parts, and as floats beside floats. Against eager PyTorch, with dtypes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import CompileError, ModuleChanged
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, as_tensors, with_forward

ROWS = [torch.randn(n, 4, generator=torch.Generator().manual_seed(n)) for n in (1, 2, 3, 5)]


class Tables(nn.Module):
    one: torch.Tensor
    vec: torch.Tensor
    blank: torch.Tensor
    places: torch.Tensor
    big: torch.Tensor
    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 5)
        self.register_buffer("one", torch.LongTensor([[4]]))
        self.register_buffer("vec", torch.tensor([3, 1, 4, 1, 5]))
        self.register_buffer("blank", torch.arange(15).reshape(3, 5) * 3 % 7)
        self.register_buffer("places", torch.arange(1, 6).unsqueeze(0))
        self.register_buffer("big", torch.tensor([2**24 + 1, 2**53 + 1, 5]))
        self.register_buffer("count", torch.tensor(9))

    def longer(self, ids: torch.Tensor, more: torch.Tensor) -> torch.Tensor:
        return torch.cat([ids, more.view(1, 1)], dim=-1)


def arithmetic(self, x):
    return self.vec + 1, 2 - self.vec, self.vec * self.vec, self.blank // 2, self.blank % 2, -self.vec, self.places + x.size(0)


def exact(self, x):
    return self.big + 1, self.big * 2, self.big == 2**24, torch.maximum(self.big, self.big - 1), self.big.tolist()


def of_floats(self, x):
    return self.vec * 0.5, self.blank / 2, x.sum() - self.blank, x[0] < self.vec[:4], self.vec.float() * x.sum(), self.count * x


def single(self, x):
    if self.count > 3:
        x = x * 2
    return x + self.count, self.count + x.size(0), self.one.clone()


def results(self, x):
    return self.blank, self.one, [self.vec, self.vec + 1], {"a": self.places}


def moved(self, x):
    flat = self.blank.flatten()
    return self.blank.t(), flat, flat.size(0), self.blank.view(-1), self.blank.repeat(2, 1), self.vec.unsqueeze(1)


def joined(self, x):
    return (
        torch.cat([self.blank, self.blank], dim=1),
        torch.stack([self.vec, self.vec]),
        torch.cat([self.vec, torch.tensor([7])]),
    )


def chosen(self, x):
    n = x.size(0)
    return self.blank[:n], self.blank[:, :n], self.blank[n % 3], self.blank[self.blank > 3], self.vec[self.vec > 2]


def compared(self, x):
    ends = self.blank == 3
    return ends.sum(1), (ends.sum(1) > 0).sum(0).item(), torch.where(self.vec > 2, self.vec, 0), torch.arange(5) == self.vec


def lengths(self, x):
    filled = self.places.masked_fill(~(self.blank == 2), 12)
    return filled.min(1)[0], torch.full_like(self.blank, 2), F.one_hot(self.vec, 6).float()


def put_into(self, x):
    seq = self.blank.clone().detach()
    best = x[0].topk(3)[1]
    seq[:, 0] = 2
    seq[:, 1] = best
    seq[:, :2] = seq[best % 3, :2]
    return seq, self.blank + 0


def grown(self, x):
    ids = self.one
    for row in x:
        ids = self.longer(ids, row.argmax())
    return ids, self.linear.weight[self.blank[0] % 5], F.embedding(self.one, self.linear.weight)


def walked(self, x):
    for i in self.vec:
        x = x * i
    return x, [i.item() for i in self.vec]


def on_one_path(self, x):
    ids = self.vec if x.sum() > 0 else torch.tensor([1, 2, 3, 4, 5])
    return ids * 2


FUNCTIONS = [arithmetic, exact, of_floats, single, results, moved, joined, chosen, compared, lengths, put_into, grown, walked]
FUNCTIONS += [on_one_path]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_as_eager(function: Any) -> None:
    model = with_forward(Tables(), function)
    interpreter = Interpreter(agrees(model, ROWS))
    for x in ROWS:
        with torch.no_grad():
            _same_ints(as_tensors(interpreter.run(x)), model(x))


def _same_ints(mine: Any, theirs: Any) -> None:
    """That tensors of ints and bools are the same exactly, and are of the same dtype."""
    if isinstance(theirs, dict):
        mine, theirs = list(mine.values()), list(theirs.values())
    if isinstance(theirs, (tuple, list)):
        for a, b in zip(mine, theirs, strict=True):
            _same_ints(a, b)
    elif isinstance(theirs, torch.Tensor) and not theirs.is_floating_point():
        assert mine.dtype == theirs.dtype
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("function", [put_into, of_floats, exact])
def test_natively(function: Any, codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Tables(), function), ROWS, codegen, tmp_path)


def seen_whole(self, x):
    seq = self.vec
    seq += 1
    return seq


def seen_in_a_part(self, x):
    seq = self.blank[x.size(0) % 3]
    seq[0] = 1
    return seq, self.blank + 0


def seen_moved(self, x):
    seq = self.blank.view(-1)
    seq[0] = 1
    return seq, self.blank + 0


def itself(self, x):
    self.vec.add_(1)
    return self.vec + 0


@pytest.mark.parametrize("function", [seen_whole, seen_in_a_part, seen_moved, itself])
def test_a_change_of_the_buffer_is_refused(function: Any) -> None:
    with pytest.raises(CompileError, match=r"changes (a tensor|`vec`)"):
        build(with_forward(Tables(), function), sample=ROWS)


@pytest.mark.parametrize("function", [arithmetic, of_floats])
def test_a_change_between_calls_is_noticed(function: Any, tmp_path: Path) -> None:
    module: Any = with_forward(Tables(), function)
    executable = compile(module, sample=ROWS, cache_folder=tmp_path)
    executable(ROWS)
    module.vec[0] = 8
    with pytest.raises(ModuleChanged, match="`vec`"):
        executable(ROWS)
