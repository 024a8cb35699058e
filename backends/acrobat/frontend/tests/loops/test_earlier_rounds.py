"""Names without a value before a loop that a round reads from an earlier round. Against eager PyTorch."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3]]
ROWS = [torch.randn(n, 6, generator=torch.Generator().manual_seed(n)) for n in (3, 1, 5)]


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 6)
        self.cell = nn.Linear(6, 6)


def differences(self, ns):
    out = []
    for i, n in enumerate(ns):
        if i > 0:
            out.append(n - last)  # noqa: F821
        last = n  # noqa: F841
    return out


def of_the_first_round(self, ns):
    total = 0
    for i, n in enumerate(ns):
        if i == 0:
            before = n
        total += before * n
        before = n
    return total


def hidden_state(self, ns):
    first = True
    for n in ns:
        if first:
            h = self.e.weight[n]
            first = False
        else:
            h = torch.tanh(self.cell(h) + self.e.weight[n])
    return h


def of_a_while(self, ns):
    i = 0
    while i < len(ns):
        with torch.no_grad():
            if i == 0:
                best, at = ns[i], 0
            elif ns[i] > best:
                best, at = ns[i], i
        i += 1
    return best, at


def several_at_once(self, ns):
    for i, n in enumerate(ns):
        if i == 0:
            h, before, seen = self.e.weight[n], n, [n]
            continue
        seen.append(n - before)
        h = h + self.e.weight[n] * (n - before)
        before = n
    return h, before, seen


def of_an_inner_loop(self, ns):
    out = []
    for n in ns:
        for k in range(n):
            if k == 0:
                product = n
            else:
                product = product * 2 % 7
        if n > 0:
            out.append(product)
    return out


def rows_of_a_tensor(self, x):
    for t in range(x.size(0)):
        if t == 0:
            c = torch.zeros(6)
        c = c * 0.5 + x[t]
        if t == 0:
            best, at = c.sum(), 0
        elif c.sum() > best:
            best, at = c.sum(), t
    return c, best, at


def of_other_shapes(self, ns):
    """What a round assigns itself keeps any type, where no earlier round is asked."""
    out = []
    for n in ns:
        if n > 3:
            y = self.e.weight[n]
        elif n > 1:
            y = self.e.weight[n][:2]
        if n > 1:
            out.append(y.sum())
    return out


def of_a_match(self, ns):
    out = []
    for n in ns:
        match n % 3:
            case 0:
                word = "z"
            case 1:
                word = "o"
            case _:
                word = "t"
        out.append(word)
    return out


CASES = [
    (differences, NUMBERS),
    (of_the_first_round, NUMBERS),
    (hidden_state, NUMBERS),
    (of_a_while, NUMBERS),
    (several_at_once, NUMBERS),
    (of_an_inner_loop, NUMBERS),
    (rows_of_a_tensor, ROWS),
    (of_other_shapes, NUMBERS),
    (of_a_match, NUMBERS),
]


@pytest.mark.parametrize(("function", "sample"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_as_eager(function, sample) -> None:
    agrees(with_forward(Words(), function), sample)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Words(), hidden_state), NUMBERS, codegen, tmp_path)


def test_without_a_value_in_any_round_before() -> None:
    def last_even(self, ns):
        total = 0
        for n in ns:
            if n % 2 == 0:
                even = n
            if n > 4:
                total += even
        return total

    program = build(with_forward(Words(), last_even), sample=[[2, 5], [4, 7, 1]])
    assert Interpreter(program).run([4, 5]) == 4
    with pytest.raises(InstanceError, match="UnboundLocalError: `even` has no value here"):
        Interpreter(program).run([5, 2])
