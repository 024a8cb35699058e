# mypy: ignore-errors
"""Lambdas of the file or of the model's attributes: which one is meant is found by its place in the source."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from backends.acrobat.tests.zoo.check import agrees

ACTIVATIONS = {"relu": F.relu, "twice": lambda x: 2 * x, "swish": lambda x: x * torch.sigmoid(x)}
first, second = (lambda x: x + 1 if x.sum() > 0 else x - 1), (lambda x: (lambda y: y * 3)(x))
clipped = lambda x, low=-1.0, *, high=1.0: x.clamp(low, high)  # noqa: E731


class Table(nn.Module):
    """A table of functions in an attribute, several of them in one line, taken by a string of the instance."""

    def __init__(self):
        super().__init__()
        self.table = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "max": torch.maximum}
        self.scale = 3.0
        self.act = lambda x: x * self.scale

    def forward(self, instance):
        x, ops = instance
        for name, other in ops:
            x = self.table[name](x, other) if name in self.table else ACTIVATIONS[name](x)
        return self.act(x), first(x), second(x), clipped(x, high=0.5)


def test_lambdas():
    torch.manual_seed(0)
    names = ["add", "mul", "max", "relu", "twice", "swish"]
    agrees(Table(), [(torch.randn(3), [(name, torch.randn(3)) for name in names[i:]]) for i in range(6)])


class WithDefaults(nn.Module):
    """Parameters with default values, which are computed where the lambda is written, and `*` parameters."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.ops = {"times": lambda x, k=2: x * k, "count": lambda x, *rest: x + len(rest)}

    def apply_to(self, function, x):
        return function(x)

    def forward(self, n):
        add = lambda a, b=n: a + b  # noqa: E731
        log_sum = lambda *xs: torch.logsumexp(torch.tensor(xs), 0).item()  # noqa: E731
        scaled = lambda a, *rest, scale=2: a * scale + len(rest) + sum(rest)  # noqa: E731
        n = n + 1
        x = self.a.weight[0]
        for step in [lambda x, layer=layer, i=i: layer(x) * i for i, layer in enumerate((self.a, self.b), 1)]:
            x = step(x)
        numbers = add(1), add(1, 2), add(1, b=5), add(a=3), log_sum(1.0, 2.0, float(n)), log_sum(0.5)
        others = scaled(n), scaled(n, 1, 2), scaled(n, 1, scale=3), self.ops["times"](n), self.ops["times"](n, 5)
        chosen = max([n, 5], key=lambda v, sign=-1: v * sign), self.apply_to(lambda v, k=n * 2: v * k, n)
        return numbers, others, chosen, self.ops["count"](n, 1, 2), x


def test_defaults_and_starred_parameters() -> None:
    agrees(WithDefaults(), [1, 2, 5])


class Seen(nn.Module):
    def forward(self, n):
        xs = [n]
        count = lambda k, xs=xs: len(xs) + k  # noqa: E731
        xs.append(2)
        return count(1)


def test_a_default_value_is_another_name_of_a_list() -> None:
    agrees(Seen(), [1, 2])
