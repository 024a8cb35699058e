"""Functions, methods and modules that branches give to one name, in eager PyTorch and in the interpreter."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees

torch.manual_seed(0)
SAMPLE = [(torch.randn(4), n) for n in (0, 1, 2, 3)]


class Two(nn.Module):
    """A model with two layers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.one, self.other = nn.Linear(4, 4), nn.Linear(4, 4)


class OneBefore(Two):
    def forward(self, g):
        x, n = g
        act = torch.relu
        if n == 1:
            act = torch.tanh
        elif n == 2:
            act = self.one
        return act(act(x))


class Patterns(Two):
    def forward(self, g):
        x, n = g
        match n:
            case 0:
                f = self.one
            case 1:
                f = self.other
            case _:
                f = torch.sigmoid
        return f(f(x))


class WithNumbers(Two):
    def forward(self, g):
        x, n = g
        if n == 0:
            f, k = self.one, 1
        elif n == 1:
            f, k = self.other, 2
        else:
            f, k = self.one, 3
        for _ in range(k):
            x = f(x)
        return x


class FunctionsInside(Two):
    """A function in a branch is bound as an assignment is."""

    def forward(self, g):
        x, n = g
        if n > 1:

            def f(y):
                return self.one(y) + x
        else:

            def f(y):
                return self.other(y) * n

        return f(f(x))


class Redefined(Two):
    def forward(self, g):
        x, n = g

        def f(y):
            return self.one(y)

        if n > 0:

            def f(y):
                return self.other(y) + n

        return f(x)


class NamesOfNow(Two):
    """A function sees the values that names have when it is called."""

    def forward(self, g):
        x, n = g
        y = x
        if n:
            y = torch.tanh(x)

            def f(z):
                return z * y
        else:
            f = self.one
        y = y + 1
        return f(x)


class InEachRound(Two):
    def forward(self, g):
        x, n = g
        k = 0
        while k < n + 1:
            f = self.one if k == 0 else self.other
            if k % 2:

                def f(z):
                    return torch.tanh(z) + k  # noqa: B023

            x = f(x)
            k += 1
        return x


class ParameterInstead(Two):
    """A parameter that one branch gives another function."""

    def apply(self, x, n, act):
        if n:
            act = self.one
        return act(x)

    def forward(self, g):
        x, n = g
        return self.apply(x, n, torch.tanh) + self.apply(x, n - 1, self.other)


class PatternInstead(Two):
    def forward(self, g):
        x, n = g
        match (n, self.other):
            case (0, f):
                pass
            case _:
                f = self.one
        return f(x)


RIGHT = [
    OneBefore,
    Patterns,
    WithNumbers,
    FunctionsInside,
    Redefined,
    NamesOfNow,
    InEachRound,
    ParameterInstead,
    PatternInstead,
]


@pytest.mark.parametrize("cls", RIGHT, ids=lambda c: c.__name__)
def test_as_in_eager_pytorch(cls):
    agrees(cls(), SAMPLE)


class OfItsBranch(Two):
    def forward(self, g):
        x, n = g
        if n:
            y = torch.tanh(x)
            f = lambda z: z * y  # noqa: E731
        else:
            f = self.one
        return f(x)


class OfALoop(Two):
    def forward(self, g):
        x, n = g
        f = self.one
        for i in range(n):
            if i == 1:

                def f(z):
                    return self.other(z)

        return f(x)


REFUSED = {
    OfItsBranch: "`f` is a function that uses what only its branch has computed",
    OfALoop: "`f` holds something before this loop that is known at compile time only, and the loop assigns another value",
}


@pytest.mark.parametrize("cls", REFUSED, ids=lambda c: c.__name__)
def test_what_is_not_followed_is_refused(cls):
    with pytest.raises(CompileError) as error:
        build(cls(), sample=SAMPLE)
    assert REFUSED[cls] in str(error.value)
