"""Lists that are given with `*` to functions of PyTorch: of run-time length to those of two tensors, written out to all; and
tuples that are given so to functions of the model."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, with_forward


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(10, 8)

    def rows(self, xs):
        return [self.table.weight[x] for x in xs]


def of_two(self, xs):
    rows = self.rows(xs)
    return torch.min(*rows), torch.max(rows[0], *rows[1:]), torch.maximum(*rows), torch.dot(*rows), torch.add(*rows)


def of_an_equation(self, xs):
    rows = self.rows(xs)
    return torch.einsum("i,i->", *rows), torch.einsum("i,j->ij", *rows), torch.einsum("i,i,i->i", rows[0], *rows)


OF_NAMES = {"sin": torch.sin, "twice": lambda v: 2 * v, "square": torch.square, "add": torch.add, "most": torch.maximum}


def of_chosen_functions(self, xs):
    rows = self.rows(xs)
    one, two = ["sin", "twice", "square"][xs[0] % 3], ["add", "most"][xs[0] % 2]
    return OF_NAMES[two](*rows), OF_NAMES[one](*rows[:1])


def written_out(self, xs):
    rows = self.rows(xs)
    joined = torch.stack((*rows, rows[0])), torch.cat([rows[1], *rows]), torch.stack([*rows, *rows])
    return joined, torch.ones(*[2, 3]), rows[0].view(*[2, 4]), torch.zeros(*[len(xs), 2]), torch.einsum("i,i->", *rows[:2])


def renamed(self, pair):
    word, rest = pair
    return word + 1, [x + 1 for x in rest]


def split(self, pair, depth):
    head, rest = renamed(self, pair)
    return (head, rest) if depth else None


def nested(self, head, rest, depth, out):
    if depth == 0:
        return [*out, head, len(rest)]
    found = split(self, (head, rest), depth)
    if found is None:
        return out
    return nested(self, *found, depth - 1, out=[*out, head])


def before_other_arguments(self, xs):
    return nested(self, xs[0], [], 2, []), nested(self, xs[1], xs, len(xs), [])


@pytest.mark.parametrize("forward", [of_two, of_an_equation, of_chosen_functions, written_out, before_other_arguments])
def test_as_in_eager_pytorch(forward):
    agrees(with_forward(Model(), forward), [[1, 2], [4, 3], [2, 0]])


@pytest.mark.parametrize("xs", [[1], [1, 2, 3], []])
def test_another_length_is_an_error_of_the_instance(xs):
    program = Interpreter(build(with_forward(Model(), lambda self, xs: torch.max(*self.rows(xs))), sample=[[1, 2]]))
    with pytest.raises(InstanceError):
        program.run(xs)
