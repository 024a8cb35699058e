"""Functions that change a tensor in place that they are given, as a block that begins with `nn.ReLU(inplace=True)`: compiled
where the caller has made the tensor and does not use it any more, refused where it may be seen."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.verifier import verify
from backends.acrobat.tests.zoo.check import as_tensors, assert_same

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1], [9, 9]]


class RectifiedFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.relu = nn.Linear(4, 4), nn.ReLU(inplace=True)

    def forward(self, x):
        return self.linear(self.relu(x))


class RectifiedBeside(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        x = F.relu_(x)
        return self.linear(x) + x


class RectifiedBody(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 4))

    def forward(self, x):
        out = self.body(x)
        out += x
        return out


class Around(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = RectifiedFirst()

    def forward(self, x):
        return self.inner(x)


class GivingUp(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.first, self.beside, self.body, self.around = RectifiedFirst(), RectifiedBeside(), RectifiedBody(), Around()
        self.blocks = nn.ModuleList([RectifiedFirst(), RectifiedBeside(), RectifiedBody()])
        self.sequence = nn.Sequential(nn.Linear(4, 4), RectifiedFirst(), RectifiedBeside(), Around())

    def start(self, xs):
        return self.linear(torch.tensor([float(len(xs)), -1.0, 2.0, float(xs[0]) - 3]))

    def doubled(self, v):
        v.mul_(2.0)
        return v

    def same(self, v):
        return v


def temporary(self, xs):
    return self.first(self.start(xs)), self.sequence(self.start(xs)), self.around(self.linear(self.start(xs)))


def last_use(self, xs):
    y = self.start(xs)
    z = self.body(y)
    return z * 2


def rebound(self, xs):
    y = self.start(xs)
    y = self.first(y)
    y = self.doubled(y)
    for block in self.blocks:
        y = block(y)
    for _ in xs:
        y = self.beside(y)
    return y


def in_branches(self, xs):
    y = self.start(xs)
    if len(xs) > 2:
        y = self.first(y)
    else:
        y = self.beside(y)
    return y


def of_varying_extent(self, xs):
    y = self.linear(torch.stack([self.start(xs) for _ in xs]))
    return self.body(self.first(y))


COMPILED = [temporary, last_use, rebound, in_branches, of_varying_extent]


@pytest.mark.parametrize("forward", COMPILED, ids=lambda f: f.__name__)
def test_as_in_eager_pytorch(forward: Callable[..., Any]) -> None:
    torch.manual_seed(1)
    model = GivingUp().eval()
    model.forward = types.MethodType(forward, model)
    program = build(model, sample=LISTS)
    verify(program)
    interpreter = Interpreter(program)
    for xs in LISTS:
        with torch.no_grad():
            assert_same(as_tensors(interpreter.run(xs)), forward(model, xs), str(xs))


def used_again(self, xs):
    y = self.start(xs)
    z = self.first(y)
    return y, z


def used_beside(self, xs):
    y = self.start(xs)
    return y + self.first(y)


def in_a_tuple(self, xs):
    y = self.start(xs)
    pair = (y, 1)
    z = self.first(y)
    return pair[0], z


def in_a_list(self, xs):
    y, ys = self.start(xs), []
    for _ in xs:
        ys.append(y)
        y = self.first(y)
    return ys


def shown(self, xs):
    y = self.start(xs)
    v = y.view(2, 2)
    z = self.first(y)
    return v, z


def named_twice(self, xs):
    y = self.start(xs)
    z = y
    w = self.first(y)
    return z, w


def given_back(self, xs):
    y = self.start(xs)
    z = self.first(self.same(y))
    return y, z


def parameter(self, xs):
    return self.beside(self.linear.bias)


def row(self, xs):
    t = self.linear(torch.ones(2, 4))
    z = self.first(t[0])
    return t, z


def elements(self, xs):
    ys = [self.start(xs) for _ in xs]
    zs = [self.first(y) for y in ys]
    return ys, zs


def in_each_round(self, xs):
    y, out = self.start(xs), []
    for _ in xs:
        out.append(self.body(y))
    return out


def in_a_generator(self, xs):
    y = self.start(xs)
    later = (y * x for x in xs)
    z = self.first(y)
    return list(later), z


def in_a_lambda(self, xs):
    y = self.start(xs)
    total = lambda: y.sum()  # noqa: E731
    z = self.first(y)
    return total(), z


REFUSED = [used_again, used_beside, in_a_tuple, in_a_list, shown, named_twice, given_back, parameter, row, elements]
REFUSED += [in_each_round, in_a_generator, in_a_lambda]


@pytest.mark.parametrize("forward", REFUSED, ids=lambda f: f.__name__)
def test_refused(forward: Callable[..., Any]) -> None:
    model = GivingUp().eval()
    model.forward = types.MethodType(forward, model)
    with pytest.raises(CompileError, match="this changes a tensor in place that may be seen elsewhere"):
        build(model, sample=LISTS)
