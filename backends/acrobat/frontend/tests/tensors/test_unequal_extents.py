"""Extents that must agree: what differs is an error of the instance at its line, and what is known to agree is not compared.
Tensors with two extents that vary may have no rows."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.printer import print_program
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Pairs(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.l = nn.Linear(4, 3)

    def scored(self, x):
        return self.l(x)

    def mixed(self, x, y):
        return x @ y.t()


def pairs(*sizes):
    generator = torch.Generator().manual_seed(1)
    return [tuple(torch.randn(n, 4, generator=generator) for n in size) for size in sizes]


EQUAL = pairs((2, 2), (3, 3), (4, 4))
WRONG = {
    "product": lambda self, x, y: x * y,
    "matrices": lambda self, x, y: x.t() @ y,
    "scores": lambda self, x, y: (x @ x.t()) @ y,
    "scores added": lambda self, x, y: x @ x.t() + y @ y.t(),
    "cat": lambda self, x, y: torch.cat([x, y], 1),
    "stack": lambda self, x, y: torch.stack([x, y]),
    "view": lambda self, x, y: x.view(len(y), 4),
    "expand": lambda self, x, y: x.expand(len(y), 4),
    "where": lambda self, x, y: torch.where(x > 0, x, y),
    "einsum": lambda self, x, y: torch.einsum("ij,ik->jk", x, y),
    "mask": lambda self, x, y: x[y[:, 0] > 0],
    "filled": lambda self, x, y: x.masked_fill(y > 0, 0.0),
    "one row": lambda self, x, y: x + y[: len(y) - 4],
}


@pytest.mark.parametrize("name", WRONG)
def test_unequal_extents_are_an_error_at_their_line(name):
    model = with_forward(Pairs(), WRONG[name])
    sample = EQUAL if name != "one row" else pairs((2, 6), (3, 7))
    interpreter = Interpreter(build(model, sample=sample))
    line = WRONG[name].__code__.co_firstlineno
    with pytest.raises(
        InstanceError, match=rf"test_unequal_extents.py:{line}: RuntimeError: two extents must be equal here, and are"
    ):
        interpreter.run(pairs((3, 6))[0])


def factors(self, x, y):
    shares = x[:, :3] * torch.ones(4, 3)
    columns = x * self.l(torch.eye(4))[:, :1]
    return columns, self.l.weight[:, :1] - y[:1], shares.softmax(0), shares.sum(), x + torch.ones(2, 4, 4)


def first_rows(self, x, y):
    first = y[:1]
    return y - first, (y / y[-1:]).sum(0), y[1:2] + x[:, :1], (y - first) @ (y + first).t(), first.expand(len(y), 4)


def expanded(self, x, y):
    return x.expand(4, -1) @ self.l.weight.t(), x.expand_as(torch.ones(4, 4)), self.l(x.expand(4, 4)), x.expand(2, 4, 4)


def in_place(self, x, y):
    z = y * 2
    z -= y[:1]
    z[1:] += y[:1]
    return z


@pytest.mark.parametrize("forward", [factors, first_rows, expanded, in_place])
def test_an_extent_that_is_one_in_some_instances_is_broadcast(forward):
    agrees(with_forward(Pairs(), forward), pairs((4, 3), (1, 5), (1, 2), (4, 2)), spread=True)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_an_extent_of_one_is_broadcast_by_compiled_code(codegen, tmp_path):
    def forward(self, pair):
        x, y = pair
        return x.expand(4, -1) * (y - y[:1]).sum(0), self.l(x * torch.ones(4, 4))

    agrees_natively(with_forward(Pairs(), forward), pairs((4, 3), (1, 5), (1, 1)), codegen, tmp_path)


def added_in_place(self, x, y):
    z = x * 1
    z += torch.ones(4, 4)
    return z


def added_to_a_part(self, x, y):
    z = torch.cat([y, y])
    z[1:] += x
    return z


def added_by_a_method(self, x, y):
    z = x * 1
    z.add_(torch.ones(4, 4))
    return z


def loss(self, x, y):
    return F.binary_cross_entropy(x.sigmoid(), torch.ones(4, 4))


@pytest.mark.parametrize("forward", [added_in_place, added_to_a_part, added_by_a_method, loss])
def test_what_pytorch_does_not_broadcast_is_an_error(forward):
    model = with_forward(Pairs(), forward)
    (fits, other) = pairs((3, 2), (4, 1)) if forward is added_to_a_part else pairs((4, 2), (1, 2))
    with torch.no_grad(), pytest.raises((RuntimeError, ValueError)):
        model(*other)
    interpreter = Interpreter(build(model, sample=[fits, other]))
    interpreter.run(fits)
    with pytest.raises(InstanceError):
        interpreter.run(other)


def test_index_add_takes_an_int_for_each_part():
    model = with_forward(Pairs(), lambda self, pair: pair[0].index_add(0, torch.arange(len(pair[0])), pair[1]))
    program = agrees(model, EQUAL)
    with pytest.raises(InstanceError, match="`index_add` of 5 parts takes an index of as many ints, not 3"):
        Interpreter(program).run(pairs((3, 5))[0])


def test_a_mask_of_another_fixed_extent_is_refused():
    model = with_forward(Pairs(), lambda self, x, y: (self.l.weight[y[0] > 0], x))
    with pytest.raises(CompileError, match="a mask of 4 elements chooses among 3 parts of a tensor"):
        build(model, sample=EQUAL)


def attention(self, pair):
    x, y = pair
    q, k, v = self.scored(x), self.scored(y), self.scored(y) + torch.arange(len(y)).unsqueeze(1)
    scores = self.mixed(q, k)
    return F.softmax(scores, 1) @ v + x[:, :3], scores.t() @ q


def test_extents_that_are_known_to_agree_are_not_compared():
    text = print_program(agrees(with_forward(Pairs(), attention), pairs((2, 3), (1, 4), (3, 1))))
    assert "host fail" not in text


def sums(self, pair):
    x, y = pair
    scores = self.l(x) @ self.l(y).t()
    return scores.sum(0), scores.t().sum(1), scores.t() @ self.l(x), (scores > 0).sum(0), scores.shape[1], scores.size(0)


def test_tensors_without_rows_have_their_columns():
    agrees(with_forward(Pairs(), sums), pairs((3, 2), (0, 3), (2, 0), (1, 4), (0, 0)))
