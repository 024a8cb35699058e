"""Fields of objects that the model makes whose tensors differ in extents from place to place, as what a model with early exits
has collected until it leaves."""

# mypy: ignore-errors
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, as_tensors, assert_same, with_forward


@dataclass
class Left:
    confidences: Tensor
    at: int


class Collected(NamedTuple):
    states: Tensor
    steps: int


def layered():
    torch.manual_seed(0)
    module = nn.Module()
    module.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
    return module


def instances():
    """One for each number of layers, since a positive first number leaves after the first layer, and so on."""
    return [torch.tensor([k == 0, k == 1, k == 2, 1.0]).float() for k in (2, 0, 1, 0, 2)]


def until_sure(self, x):
    h, sure = x, []
    for i, layer in enumerate(self.layers):
        h = layer(h).tanh()
        sure.append(h.amax())
        if x[i].item() > 0.5:
            return {"sure": torch.stack(sure), "h": h, "layer": i}
    return {"sure": torch.stack(sure), "h": h, "layer": -1}


def as_rows_and_columns(self, x):
    h, states = x, []
    for i, layer in enumerate(self.layers):
        h = layer(h).tanh()
        states.append(h)
        if x[i].item() > 0.5 and i < 2:
            return {"rows": torch.stack(states), "columns": torch.stack(states, dim=1), "flat": torch.cat(states)}
    return {"rows": torch.stack(states), "columns": torch.stack(states, dim=1), "flat": torch.cat(states)}


def of_numbers(self, x):
    if x[0].item() > 0.5:
        return {"path": torch.tensor([3]), "costs": torch.tensor([0.5])}
    if x[1].item() > 0.5:
        return {"path": torch.tensor([3, 1]), "costs": torch.tensor([0.5, 2.0])}
    return {"path": torch.tensor([3, 1, 2]), "costs": torch.tensor([0.5, 2.0, 1.5])}


def one_of_some_exits(self, x):
    h, found = x, []
    for i, layer in enumerate(self.layers):
        h = layer(h).tanh()
        found.append(h.sum())
        if x[i].item() > 0.5:
            return Left(torch.stack(found), i)
    return Left(torch.stack(found), -1)


def collected(self, x):
    states = []
    for i, layer in enumerate(self.layers):
        states.append(layer(x))
        if x[i].item() > 0.5:
            return Collected(torch.stack(states), i + 1)
    return Collected(torch.stack(states), 9)


def read_again(self, x):
    out = until_sure(self, x)
    sure, left, states = out["sure"], one_of_some_exits(self, x), collected(self, x).states
    rows = [row * 2 for row in states]
    return sure.sum(), sure[0] + sure[-1], len(sure), (sure + 1) * sure, left.confidences.mean(), states.softmax(0) @ x, rows


FORWARDS = [until_sure, as_rows_and_columns, of_numbers, one_of_some_exits, collected, read_again]


@pytest.mark.parametrize("forward", FORWARDS)
def test_fields_of_several_extents(forward):
    agrees(with_forward(layered(), forward), instances())


def test_natively(tmp_path):
    agrees_natively(with_forward(layered(), read_again), instances(), "vm", tmp_path)


def broadcast(self, x):
    return until_sure(self, x)["sure"] + torch.ones(3)


def test_one_that_happens_to_be_one_is_broadcast():
    """The exits at which a field has one element or three are shapes of their own."""
    interpreter = Interpreter(build(with_forward(layered(), broadcast), sample=instances()))
    all_layers, one, two = instances()[:3]
    with torch.no_grad():
        for x in (all_layers, one):
            assert_same(as_tensors(interpreter.run(x)), broadcast(layered(), x), "one or three")
    with pytest.raises(InstanceError):
        interpreter.run(two)


def of_two_ranks(self, x):
    return {"h": x} if x[0].item() > 0.5 else {"h": x[None]}


def of_two_extents(self, x):
    return {"h": x[None]} if x[0].item() > 0.5 else {"h": x.view(2, 2)}


def test_several_ranks_are_told_apart_and_two_extents_refused():
    agrees(with_forward(layered(), of_two_ranks), instances())
    with pytest.raises(CompileError, match=r"the field `h` .* tensor of shape .*\n.*\n.*\n    .* differ in one extent only"):
        build(with_forward(layered(), of_two_extents), sample=instances())
