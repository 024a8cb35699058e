"""Names that some arms of a `match` or an `if` assign while others leave the round: on the ways without an arm for the value
they have no value, and reading them is an error of the instance. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

import enum

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, with_forward

NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3], []]


class Kind(enum.Enum):
    ONE = 0
    TWO = 1
    SKIP = 2


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(10, 4)


def by_match(self, numbers):
    out, stay = torch.zeros(4), None
    for n in numbers:
        match Kind(n % 3):
            case Kind.ONE:
                x = self.table.weight[n]
            case Kind.TWO:
                if stay is None:
                    continue
                x = self.table.weight[n + 1]
            case Kind.SKIP:
                stay = None
                continue
        x = x * 2
        if stay is not None:
            stay = stay + x
        else:
            out, stay = out + x, x
    return out


def by_tests(self, numbers):
    total = 0
    for n in numbers:
        kind = Kind(n % 3)
        if kind is Kind.ONE:
            x = 1
        elif kind is Kind.TWO:
            if total > 3:
                continue
            x = 2
        elif kind is Kind.SKIP:
            continue
        total += x
    return total


def with_other_values(self, numbers):
    total = 0
    for n in numbers:
        if n == 1:
            continue
        elif n > 2:  # noqa: RET507
            x = n
        total += x
    return total


@pytest.mark.parametrize("forward", [by_match, by_tests])
def test_names_that_arms_assign(forward) -> None:
    agrees(with_forward(Model(), forward), NUMBERS)


def test_no_arm_for_a_value_is_an_error_of_the_instance() -> None:
    model = with_forward(Model(), with_other_values)
    agrees(model, [[3, 1, 5], [1, 4, 1], [7, 1]])
    with pytest.raises(InstanceError, match="`x` has no value here"):
        Interpreter(build(model, sample=[[3, 1], [4]])).run([2, 3])
