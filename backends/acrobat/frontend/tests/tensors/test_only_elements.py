"""Numbers and decisions that are read from tensors of which extents vary, and which have one element where they are read."""

# mypy: ignore-errors
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.cell, self.choose = nn.GRUCell(4, 4), nn.Linear(4, 3)


def joined(states):
    return torch.cat(states, 0)


def steps(self, x):
    """Each state has one row, but `joined` is of lists of any length."""
    h, taken = torch.zeros(1, 4), []
    for row in x.split(1, 0):
        h = joined([self.cell(row, h)])
        scores = self.choose(h)
        action = scores.argmax(1).item()
        taken.append(action)
        if action == 0 or scores.max(1)[0] > 0.4:
            h = h + scores[0, action]
    return h, taken


def numbers(self, x):
    first, places = x[:1, 0], x[:1].argmax(1)
    m = x[:1, :1] > 0
    ints = torch.tensor([i + 1 for i in range(len(x))])
    read = first.item(), float(first), int(first * 10), places.item(), int(places), m.item(), bool(m), int(m), ints[:1].item()
    return read, x.sum(1)[-1:].item() + 1, x[:1].argmax(dim=1, keepdim=True).item(), round(x[-1:, 2].item(), 3)


def decisions(self, x):
    """A tensor of zero is false, as a number is."""
    a = 1 if x[:1, 0] else 2
    b = 1 if x[:1, 0] * 0 else 2
    c = [i for i in range(len(x)) if x[i : i + 1, 1] > 0]
    k = x[:1, :1].abs() + 1.5
    while k > 0:
        k = k - 1
    return a, b, c, k, not x[:1, 2:3] > 0


MODELS = [steps, numbers, decisions]
INSTANCES = [torch.randn(n, 4, generator=torch.Generator().manual_seed(n)) for n in (2, 1, 5, 3)]


@pytest.mark.parametrize("forward", MODELS, ids=[f.__name__ for f in MODELS])
def test_as_python(forward: Any) -> None:
    agrees(with_forward(Model(), forward), INSTANCES)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Model(), steps), INSTANCES, codegen, tmp_path)


def item(self, x):
    return x[:, 0].item()


def chosen(self, x):
    return x.argmax(1).item()


def flag(self, x):
    return (x[:, 0] > 0).item()


def truth(self, x):
    return 1 if x[:, 0] else 0


def truth_of_mask(self, x):
    return 1 if x[:, 0] > 0 else 0


@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize("forward", [item, chosen, flag, truth, truth_of_mask])
def test_another_number_of_elements_is_an_error_of_the_instance(forward: Any, rows: int) -> None:
    model = with_forward(Model(), forward)
    program = build(model, sample=INSTANCES)
    assert Interpreter(program).run(INSTANCES[1]) == pytest.approx(model(INSTANCES[1]))
    with pytest.raises(InstanceError, match=f"one of its extents is {rows}"):
        Interpreter(program).run(torch.ones(rows, 4))


def test_rows_of_several_elements_are_refused() -> None:
    def forward(self, x):
        return x.item()

    with pytest.raises(CompileError, match="only a tensor of one element has a value to read"):
        build(with_forward(Model(), forward), sample=INSTANCES)
