"""Objects of several dataclasses that are compared field by field, also as keys of a dictionary."""

# mypy: ignore-errors
from __future__ import annotations

from dataclasses import dataclass
from typing import Union

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


@dataclass(frozen=True)
class Number:
    value: float


@dataclass(frozen=True)
class Name:
    name: str


@dataclass(frozen=True)
class Sum:
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Minus:
    inner: Expression


Expression = Union[Number, Name, Sum, Minus]  # noqa: UP007

TWICE = Sum(Number(2.0), Number(2.0))
SAMPLE = [
    Sum(Number(1.0), Name("x")),
    Minus(Sum(Name("x"), Name("x"))),
    Sum(TWICE, Sum(Number(2.0), Number(2.0))),
    Number(3.0),
    Sum(Minus(Number(1.0)), Minus(Number(1.0))),
]
PAIRS = [
    (SAMPLE[0], SAMPLE[0]),
    (SAMPLE[0], Sum(Number(1.0), Name("x"))),
    (SAMPLE[1], SAMPLE[2]),
    (SAMPLE[3], Number(3.5)),
    (Sum(Number(1.0), Name("x")), Sum(Number(1.0), Name("y"))),
    (Minus(SAMPLE[4]), Minus(Sum(Minus(Number(1.0)), Minus(Number(1.0))))),
]


class Evaluator(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(8, 4)
        self.cell = nn.Linear(4, 4)

    def simplified(self, e):
        match e:
            case Sum(left, right):
                left, right = self.simplified(left), self.simplified(right)
                return Sum(Number(2.0), left) if left == right else Sum(left, right)
            case Minus(inner):
                return Minus(self.simplified(inner))
        return e

    def value(self, e, memo):
        if e not in memo:
            match e:
                case Number(value):
                    memo[e] = self.emb.weight[1] * value
                case Name(name):
                    memo[e] = self.emb.weight[len(name) + 2]
                case Sum(left, right):
                    memo[e] = self.cell(self.value(left, memo) + self.value(right, memo))
                case Minus(inner):
                    memo[e] = -self.value(inner, memo)
        return memo[e]


def simplified_first(self, e):
    return self.value(self.simplified(e), {})


def remembered(self, e):
    memo = {}
    return self.value(e, memo), len(memo)


def compared(self, pair):
    one, other = pair
    return one == other, one != other, one in [other]


CASES = [(simplified_first, SAMPLE), (remembered, SAMPLE), (compared, PAIRS)]


@pytest.mark.parametrize(("function", "sample"), CASES)
def test_as_eager(function, sample) -> None:
    agrees(with_forward(Evaluator(), function), sample)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Evaluator(), remembered), SAMPLE, codegen, tmp_path)
