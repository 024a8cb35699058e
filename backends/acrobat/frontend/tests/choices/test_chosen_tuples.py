"""Tuples with functions in them, of which one is chosen at run time: `arity, work = TABLE[name]`. Against eager PyTorch, in the
interpreter and by generated host code."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[], [0, 1, 2], [1, 0, 1], [2, 2, 5]]


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        self.functions = {"a": (1, torch.tanh), "b": (2, torch.relu)}
        self.methods = {"a": (1, self.plus), "b": (2, self.square)}

    def plus(self, x):
        return x + 1

    def square(self, x):
        return x * x


def by_key(self, xs):
    v = torch.ones(2)
    for x in xs:
        key = "a" if x > 1 else "b"
        n, work = self.functions[key]
        v = work(v * n)
        n, work = self.methods[key]
        v = work(v) * n
    return v


def by_conditions(self, xs):
    v, seen = torch.ones(2), []
    for x in xs:
        n, work = (x, torch.tanh) if x > 0 else (x + 1, torch.relu) if x == 0 else (5, torch.exp)
        v = work(v) * n
        pair = self.functions["a" if x > 1 else "b"]
        seen.append(pair[0])
        v = pair[1](v)
        n, work = self.functions.get("a" if x > 1 else "c", (7, torch.sigmoid))
        v = work(v) * n
    return v, seen


def with_modules(self, xs):
    v = torch.ones(2)
    for x in xs:
        scale, cell = (2.0, self.a) if x else (0.5, self.b)
        v = cell(v) * scale
    return v


def by_statements(self, xs):
    if xs:
        n, work = self.functions["a"] if xs[0] else self.functions["b"]
    else:
        n, work = 1, torch.exp
    return work(torch.ones(2)) * n


FORWARDS = [by_key, by_conditions, with_modules, by_statements]


@pytest.mark.parametrize("forward", FORWARDS, ids=lambda f: f.__name__)
def test_tuple_with_a_function(forward) -> None:
    agrees(with_forward(Table(), forward), LISTS)


def test_generated_code(tmp_path) -> None:
    agrees_natively(with_forward(Table(), by_key), LISTS, "vm", tmp_path)


def of_its_branch(self, xs):
    if xs:
        v = torch.ones(2) * len(xs)
        pair = (1, lambda t: t + v)
    else:
        pair = (2, torch.tanh)
    return pair[1](torch.ones(2)) * pair[0]


def test_what_only_a_branch_has_computed_is_refused() -> None:
    with pytest.raises(CompileError):
        build(with_forward(Table(), of_its_branch), sample=LISTS)
