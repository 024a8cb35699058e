"""Statements that compute numbers alone are found, with the numbers that are needed elsewhere; and a function that waits keeps
only these in its frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from backends.acrobat import compile
from backends.acrobat.codegen.numbers import Stretch, mentioned, stretches
from backends.acrobat.core.span import Span
from backends.acrobat.core.types import INT, TensorT
from backends.acrobat.ir import nodes as n
from backends.acrobat.schedule import nodes as s

X, Y, Z, W = (n.Var(name, INT) for name in "xyzw")
TENSOR = n.Var("t", TensorT((4,)))
NOWHERE = Span("", 0, 0)


def add(to: n.Var, a: n.Var, b: n.Var) -> s.Assign:
    return s.Assign(to, n.Host("add", (a, b), INT), None)


def found(statements: Sequence[s.Statement], used: n.Var) -> list[Any]:
    body = s.Body(tuple(statements), s.Give(used, None))
    return list(stretches(statements, mentioned(body)))


def test_mentions_are_where_a_variable_is_bound_and_used() -> None:
    body = s.Body((add(Y, X, X), s.Wait(TENSOR, s.READY, NOWHERE)), s.Give(Y, None))
    assert mentioned(body) == Counter(x=2, y=2, t=1)


def test_what_is_used_elsewhere_is_kept() -> None:
    numbers = (add(Y, X, X), add(Z, Y, X), add(W, Z, Y))
    assert found(numbers, W) == [Stretch(numbers, (W,))]
    assert found(numbers, Z) == [Stretch(numbers, (Z,))]


def test_a_stretch_ends_where_something_else_is_done() -> None:
    wait = s.Wait(TENSOR, s.READY, NOWHERE)
    before, after = (add(Y, X, X), add(Z, Y, Y)), (add(W, Z, Z),)
    assert found([*before, wait, *after], W) == [Stretch(before, (Z,)), wait, *after]


def test_a_stretch_that_keeps_all_is_none() -> None:
    numbers = [add(Y, X, X), add(Z, X, X)]
    assert list(stretches(numbers, mentioned(tuple(numbers)) + Counter("yz"))) == numbers


def test_choices_belong_to_it_unless_an_arm_does_more() -> None:
    def choose(*more: s.Statement) -> s.Choose:
        arm = s.Body((add(W, X, X), *more), s.Give(W, None))
        return s.Choose(Y, s.IfBranch(X, arm, s.Body((), s.Give(X, None)), NOWHERE))

    plain, waiting = choose(), choose(s.Wait(TENSOR, s.READY, NOWHERE))
    assert found([plain, add(Z, Y, Y)], Z) == [Stretch((plain, add(Z, Y, Y)), (Z,))]
    assert found([waiting, add(Z, Y, Y)], Z) == [waiting, add(Z, Y, Y)]


class Hashing(nn.Module):
    """Its numbers of one round, two of which are used after the wait, decide what it does."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, key: int) -> tuple[torch.Tensor, int]:
        total = 0
        for i in range(3):
            mixed = (key ^ (i * 40503)) & 65535
            mixed = ((mixed ^ (mixed >> 7)) * 73) & 65535
            step = mixed % 5 if mixed > 100 else mixed // 3
            if self.layer(x).sum().item() > 1000.0:
                return x, -1
            x = torch.tanh(self.layer(x)) if (mixed >> 2) % 2 == 0 else x + 1.0
            total = total + step * (mixed - 3)
        return x, total


def test_a_function_that_waits_computes_the_same(tmp_path: Path) -> None:
    torch.manual_seed(3)
    model = Hashing()
    instances = [(torch.randn(4), key) for key in (0, 5, 99, 12345, -7, 2**31)]
    executable = compile(model, sample=instances, cache_folder=tmp_path)
    assert "[&] {\n" in executable.source.read_text()
    for (x, total), instance in zip(executable(instances), instances, strict=True):
        expected, count = model(*instance)
        assert total == count and torch.allclose(x, expected, atol=1e-5)
