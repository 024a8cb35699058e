"""Objects that keep a lambda of the function that makes them: caches and rules."""

# mypy: ignore-errors
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3]]


class Cache:
    def __init__(self, compute):
        self.compute = compute
        self.known = {}
        self.hits = 0

    def __call__(self, key):
        if key in self.known:
            self.hits += 1
        else:
            self.known[key] = self.compute(key)
        return self.known[key]


@dataclass
class Rule:
    name: str
    test: Any
    weight: float = 1.0


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(10, 4)
        self.one = nn.Linear(4, 4)
        self.other = nn.Linear(4, 2)

    def scored(self, numbers, layer):
        rule = Rule("layer", lambda n: layer(self.emb.weight[n]).sum())
        return [rule.test(n) for n in numbers]


def one_cache(self, numbers):
    cache = Cache(lambda n: self.one(self.emb.weight[n]))
    return sum(cache(n).sum() for n in numbers), cache.hits, len(cache.known)


def two_caches(self, numbers):
    one, other = Cache(lambda n: self.one(self.emb.weight[n])), Cache(lambda n: self.emb.weight[n] * 2)
    return sum(one(n).sum() + other(n + 1).sum() for n in numbers), one.hits + other.hits


def rules(self, numbers):
    given = [Rule("even", lambda n: n % 2 == 0), Rule("large", lambda n: n > 3, 2.0), Rule("any", lambda n: True, 0.5)]
    weights = [sum(r.weight for r in given if r.test(n)) for n in numbers]
    return weights, [next(r.name for r in given if r.test(n)) for n in numbers]


def with_a_module(self, numbers):
    layer = self.other
    rule = Rule("layer", lambda n: layer(self.emb.weight[n]).sum())
    return [rule.test(n) for n in numbers]


def with_two_modules(self, numbers):
    return self.scored(numbers, self.one), self.scored(numbers, self.other)


@pytest.mark.parametrize("function", [one_cache, two_caches, rules, with_a_module, with_two_modules])
def test_as_eager(function) -> None:
    agrees(with_forward(Model(), function), NUMBERS)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Model(), rules), NUMBERS, codegen, tmp_path)


def of_a_loop(self, numbers):
    """Each lambda sees the last `k`."""
    given = []
    for k in (1, 2, 3):
        given.append(Rule("k", lambda n: n % 4 == k))  # noqa: B023
    return [sum(1 for r in given if r.test(n)) for n in numbers]


def bound_anew(self, numbers):
    layer = self.one
    rule = Rule("layer", lambda n: layer(self.emb.weight[n]).sum())
    layer = self.other
    return [rule.test(n) for n in numbers]


def of_the_instance(self, numbers):
    k = len(numbers)
    cache = Cache(lambda n: self.emb.weight[n] * k)
    return sum(cache(n).sum() for n in numbers)


@pytest.mark.parametrize("function", [of_a_loop, bound_anew, of_the_instance])
def test_what_is_refused(function) -> None:
    with pytest.raises(CompileError, match="a lambda cannot be kept in a variable"):
        build(with_forward(Model(), function), sample=NUMBERS)
