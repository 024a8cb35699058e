"""Names that are a list on one path and a tensor on another: `found = []`, then `found = torch.cat(found)` in a branch."""

# mypy: ignore-errors
from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

GIVEN = [torch.randn(n, 4) for n in (3, 1, 5, 2)]


def dropped(self, x):
    """Ints, as of a mixture of experts that drops tokens."""
    found = []
    for i in range(len(x)):
        if x[i, 0] > 0:
            found.append(torch.arange(i))
    if found:
        found = torch.cat(found)
        x = x + len(found)
    return x, len(found)


def asked(self, x):
    """Its length, its truth, its class, and each of the two in its place."""
    found = [row for row in x if row.sum() > 0]
    if len(x) > 2:
        found = torch.stack([*x])
    total = found.sum(0) if isinstance(found, torch.Tensor) else x[0] * len(found)
    return total, len(found), isinstance(found, list), found


def in_several_branches(self, x):
    found = [x[0]]
    if len(x) > 1:
        if len(x) > 2:
            found = torch.stack(found)
        else:
            found.append(x[1])
    elif x[0, 0] > 0:
        found = x
    n = len(found)
    if isinstance(found, list):
        found = torch.stack([*found, x[0]])
    return found * n


def other_names(self, x):
    """The list stays what it is under its other name."""
    found = [x[0]]
    same = found
    if len(x) > 2:
        found = torch.stack(found) + 1
    k = len(found)
    return same[0] + k, len(same)


@pytest.mark.parametrize("forward", [dropped, asked, in_several_branches, other_names])
def test_as_in_eager_pytorch(forward):
    torch.manual_seed(0)
    agrees(with_forward(nn.Module(), forward), GIVEN)


def test_in_generated_code(tmp_path):
    agrees_natively(with_forward(nn.Module(), asked), GIVEN, "vm", tmp_path)


def used_as_a_tensor(self, x):
    found = [x[0]]
    if len(x) > 1:
        found = torch.stack(found)
    return found.sum(0)


def test_the_other_one_is_an_error_of_the_instance():
    interpreter = Interpreter(build(with_forward(nn.Module(), used_as_a_tensor), sample=GIVEN))
    assert interpreter.run(GIVEN[0]).shape == (4,)
    with pytest.raises(InstanceError, match="does not take a list"):
        interpreter.run(GIVEN[1])


def walked_over(self, x):
    found = [1, 2]
    if len(x) > 1:
        found = x
    return [row + 1 for row in found]


def in_each_round(self, x):
    found = []
    for i in range(len(x)):
        if i == 2:
            found = torch.stack(found)
        elif i < 2:
            found.append(x[i])
    return len(found)


def test_refused():
    with pytest.raises(CompileError, match="`found` does not keep its type in the loop"):
        build(with_forward(nn.Module(), in_each_round), sample=GIVEN)
    with pytest.raises(CompileError, match="differ in type"):
        build(with_forward(nn.Module(), walked_over), sample=GIVEN)


class Level(nn.Module):
    """Takes a tensor, or a list of the rows of one, as the annotation says."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, items: torch.Tensor | list[torch.Tensor]) -> torch.Tensor:
        if isinstance(items, list):
            items = torch.stack(items)
        return torch.tanh(self.inner(items)).sum(0)


class Levels(nn.Module):
    def __init__(self):
        super().__init__()
        self.lower, self.upper = Level(), Level()

    def either(self, xs: torch.Tensor | list[torch.Tensor] | tuple[torch.Tensor, ...], scale: float):
        n = 1.0 if isinstance(xs, (list, tuple)) else 2.0
        return n * scale

    def forward(self, groups):
        rows = [self.lower(x) for x in groups]
        return self.upper(rows), self.upper([row * 2 for row in rows]), self.either(rows, 1.0) + self.either(groups[0], 3.0)


def groups():
    torch.manual_seed(0)
    return [[torch.randn(k + 1, 4) for k in range(n)] for n in (1, 3, 2)]


def test_lists_that_an_annotation_tells_from_tensors():
    torch.manual_seed(1)
    agrees(Levels(), groups())


def said_too_little(self, xs: torch.Tensor | Sequence[torch.Tensor]):
    return isinstance(xs, list)


def not_said(self, xs):
    return isinstance(xs, list)


def assigned_before(self, xs: torch.Tensor | list[torch.Tensor]):
    xs = [x * 2 for x in xs]
    return isinstance(xs, list)


def another_name(self, xs: torch.Tensor | list[torch.Tensor]):
    return any(isinstance(xs, list) for xs in [xs, xs])


@pytest.mark.parametrize("asks", [said_too_little, not_said, assigned_before, another_name], ids=lambda f: f.__name__)
def test_lists_of_which_no_annotation_says_the_class(asks):
    model = nn.Module()
    model.asks = asks.__get__(model)

    def forward(self, xs):
        return self.asks([x.sum(0) for x in xs])

    agrees(with_forward(model, forward), groups())

    def of_groups(self, xs):
        return [self.asks(rows) for _, rows in itertools.groupby([x.sum(0) for x in xs], lambda x: x.dim())]

    with pytest.raises(CompileError, match="which `isinstance` does not tell apart"):
        build(with_forward(model, of_groups), sample=groups())
