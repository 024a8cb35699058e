"""Names that are of another type where a loop is left early than at the end of its rounds."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

GIVEN = [torch.randn(n, 4, generator=torch.Generator().manual_seed(n)) for n in (3, 1, 5, 2)]


def not_read(self, x):
    """The scores of a beam get their second dimension back behind the `break`."""
    scores = x.sum(1, keepdim=True)
    rounds, total = 0, x.sum() * 0
    while True:
        scores = (scores * 2).squeeze(1)
        total = total + scores.sum()
        rounds += 1
        if rounds >= len(x):
            break
        scores = scores.unsqueeze(1)
    return rounds, total


def returned(self, x):
    state = x[0]
    for row in x:
        state = (state * row).sum()
        if state > 1:
            return state
        state = state + row
    return state.sum()


def read_on_one_way(self, x):
    """Read after the loop only where it was left by the other `break`."""
    scores = x.sum(1, keepdim=True)
    rounds = 0
    while True:
        scores = (scores * 2).squeeze(1)
        rounds += 1
        if rounds >= 3:
            break
        scores = scores.unsqueeze(1)
        if rounds >= len(x):
            break
    return scores if rounds < 3 else torch.zeros(len(x), 1)


def assigned_again(self, x):
    """The next round of the loop around assigns the name before it reads it."""
    total = x.sum() * 0
    for row in x:
        part = row[:2]
        for k in range(len(x)):
            part = part.sum()
            if k == 2:
                break
            part = part + row[:2] + k
        total = total + row.sum() * 2
    return total


def named_by_constants(self, x):
    """The rounds are over modules, and each way out of the loop has a constant of its own."""
    count = 0
    for layer in self.layers:
        x = layer(x)
        count += 1
        if x.max().item() > 0.8:
            reason, code = "high", 1
            break
        if x.min().item() < -1:
            reason, code = "low", 2
            break
    else:
        reason, code = "exhausted", -1
    return x, count, reason, code * 2


def read(self, x):
    found = []
    for row in x:
        found.append(row)
        if len(found) == 3:
            found = torch.stack(found).sum()
            break
    return len(found)


@pytest.mark.parametrize("forward", [not_read, returned, read_on_one_way, assigned_again])
def test_as_in_eager_pytorch(forward):
    agrees(with_forward(nn.Module(), forward), GIVEN)


def test_constants_that_each_way_out_of_an_unrolled_loop_assigns():
    torch.manual_seed(1)
    model = with_forward(nn.Module(), named_by_constants)
    model.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
    agrees(model, GIVEN)
    with torch.no_grad():
        assert {model(x)[2] for x in GIVEN} == {"high", "low", "exhausted"}


def test_in_generated_code(tmp_path):
    agrees_natively(with_forward(nn.Module(), read_on_one_way), GIVEN, "vm", tmp_path)


def test_reading_the_other_value_is_an_error_of_the_instance():
    run = Interpreter(build(with_forward(nn.Module(), read), sample=GIVEN)).run
    assert run(GIVEN[3]) == 2
    with pytest.raises(InstanceError, match=r"`found` is a tensor of shape \(\) .*, and a list of tensors .* elsewhere: give"):
        run(GIVEN[0])
