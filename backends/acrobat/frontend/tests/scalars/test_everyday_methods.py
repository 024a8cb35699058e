"""Methods of tuples, functions of `math`, shapes and lists given with `*`, and objects that are made for one call."""

# mypy: ignore-errors
from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, agrees_unless_refused, with_forward

LISTS = [[1, 2, 3], [4, 4], [2, 2, 0, 1], [5]]
NAMES = ("one", "two", "two", "three")


class Reader:
    def __init__(self, items):
        self.items = list(items)
        self.at = 0

    def take(self):
        self.at += 1
        return self.items[self.at - 1]

    def all(self):
        total = 0
        while self.at < len(self.items):
            total += self.take() * self.at
        return total


class Stack:
    def __init__(self, items):
        self.items = items
        self.size = 0

    def pushed(self, x):
        self.items.append(x)
        return len(self.items)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.w = nn.Linear(4, 4)
        self.handlers = {"none": self.none, "one": self.one, "many": self.many}

    def none(self, x):
        return x + 1

    def one(self, x, y):
        return x + y

    def many(self, x, *ys):
        return x + sum(ys)


def scaled(n, d):
    return torch.ones(n, d) / (n + d)


def of_tuples(self, xs):
    reasons, name = ("a", "b", "c"), ("c" if len(xs) > 2 else "a")
    pair = (len(xs), xs[0])
    return (
        reasons.index(name),
        reasons.index("b"),
        NAMES.index("two" if xs[0] > 1 else "three"),
        NAMES.count("two" if xs[0] > 1 else "one"),
        pair.index(xs[0]),
        pair.count(xs[-1]),
        tuple(xs).count(2),
        ("a", "a").count("a"),
    )


def of_math(self, xs):
    a, b = xs[0] / 3, float(xs[-1])
    n = len(xs)
    floats = [math.hypot(a, b), math.dist((a, b), (b, 1.0)), math.atan2(-a, b), math.fmod(b, 0.7), math.remainder(b, 0.7)]
    floats += [math.asinh(a), math.acosh(1 + a), math.atanh(a / 9), math.cbrt(a), math.exp2(a), math.hypot(a)]
    ints = [math.gcd(n, xs[0]), math.lcm(n, xs[0]), math.factorial(n), math.comb(n + 2, 2), math.perm(n, 2), math.prod(xs)]
    return floats, ints


def of_shapes(self, xs):
    x = torch.stack([self.w.weight[i % 4] for i in xs])
    return scaled(*x.shape) * x, torch.zeros(*x.size()) + x, scaled(*x.shape[:2])


def given_all(self, xs):
    rest = xs[1:]
    return self.handlers["many" if len(rest) > 1 else "one" if len(rest) > 0 else "none"](xs[0], *rest)


def made_for_the_call(self, xs):
    return Reader(xs).all() + max(Reader(xs).take(), Reader([7, *xs]).all()), xs


CASES = [of_tuples, of_math, of_shapes, given_all, made_for_the_call]


@pytest.mark.parametrize("forward", CASES, ids=[f.__name__ for f in CASES])
def test_as_python(forward: Any) -> None:
    agrees(with_forward(Model(), forward), LISTS)


@pytest.mark.parametrize("forward", [of_math, given_all], ids=["of_math", "given_all"])
def test_natively(forward: Any, codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Model(), forward), LISTS, codegen, tmp_path)


def list_seen_elsewhere(self, xs):
    made = [x + 1 for x in xs]
    size = Stack(made).pushed(3)
    return size, made


def seen_in_a_referenced_one(self, xs):
    first = Stack([1])
    stacks = [first]
    stacks[0].size = 2
    first.size = 3
    made = [x + 1 for x in xs]
    size = Stack(made).pushed(3)
    return size, made, stacks[0].size


def stack_of(items):
    return Stack(items)


def seen_through_a_function(self, xs):
    first = Stack([1])
    stacks = [first]
    stacks[0].size = 2
    first.size = 3
    made = [x + 1 for x in xs]
    size = stack_of(made).pushed(3)
    return size, made, stacks[0].size


def gcd_of_floats(self, xs):
    return math.gcd(xs[0], xs[0] / 2)


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (seen_in_a_referenced_one, "may be seen under another name"),
        (seen_through_a_function, "may be seen under another name"),
        (list_seen_elsewhere, "may be seen under another name"),
        (gcd_of_floats, "takes ints"),
    ],
)
def test_refused(forward: Any, message: str) -> None:
    agrees_unless_refused(with_forward(Model(), forward), LISTS, message)


def one_too_many(self, xs):
    return self.none(xs[0], *xs[1:])


def not_there(self, xs):
    return (xs[0], xs[-1]).index(2)


@pytest.mark.parametrize(("forward", "message"), [(one_too_many, "TypeError"), (not_there, "ValueError")])
def test_errors_of_python_are_errors_of_the_instance(forward: Any, message: str) -> None:
    program = build(with_forward(Model(), forward), sample=LISTS)
    with pytest.raises(InstanceError, match=message):
        Interpreter(program).run([1, 3])
