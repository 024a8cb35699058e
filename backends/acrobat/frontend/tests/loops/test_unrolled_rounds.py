"""Loops that are unrolled, and whose rounds `continue` may end: code grows with the rounds, not with the ways through them."""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.ir.visitor import walk
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1], [9, 9], [6, 2, 2, 3, 3, 3, 7, 1], [2, 1], [0], [12, 5]]
RULES = tuple((name, i * 7 % 5) for i, name in enumerate("abcdefghij"))


def skipped(self, xs):
    found, last, hits = [], "", 0
    for name, need in RULES:
        if need not in xs:
            continue
        hits += 1
        if xs[0] % 2 and name != "c":
            continue
        found.append(name)
        last = name
    return found, last, hits


def modules(self, xs):
    h = self[0].weight[0] * xs[0]
    for i, layer in enumerate(self):
        if i not in xs:
            continue
        h = layer(h) + i
    return h


def in_a_loop(self, xs):
    best = {}
    for x in xs:
        for name, need in RULES:
            if x < need:
                continue
            if name not in best or x > best[name]:
                best[name] = x
    return best


MODELS = [skipped, modules, in_a_loop]


@pytest.mark.parametrize("function", MODELS, ids=lambda f: f.__name__)
def test_as_in_python(function: Any) -> None:
    program = agrees(with_forward(nn.Sequential(*(nn.Linear(3, 3) for _ in range(8))), function), LISTS)
    assert sum(1 for f in program.functions.values() for _ in walk(f.body)) < 4000


def beam_from_one_row(self, xs):
    h, scores, seen = self[0].weight[:1] * xs[0], torch.zeros(1), []
    for step in range(9):
        h = torch.tanh(self[1](h))
        total = (scores.unsqueeze(1) + torch.log_softmax(h, dim=1)).view(-1)
        best, at = total.topk(min(2 + len(xs) % 2, total.numel()))
        rows, kept = [], []
        for s, i in zip(best, at.tolist(), strict=True):
            if (i + step + len(xs)) % 4 != 0:
                rows.append(i // 3)
                kept.append(s)
        seen.append(len(rows))
        if not rows:
            break
        scores, h = torch.stack(kept), h[torch.tensor(rows)]
    return scores, h.sum(0), seen


def test_rounds_after_which_nobody_knows_the_shape_are_compiled_as_one() -> None:
    """To compile each of them with its number would not tell how many rows it begins with."""
    program = agrees(with_forward(nn.Sequential(*(nn.Linear(3, 3) for _ in range(2))), beam_from_one_row), LISTS)
    assert sum(1 for f in program.functions.values() for _ in walk(f.body)) < 1000


def in_comprehensions(self, xs):
    h = self[0].weight[0] * xs[0]
    turned = torch.stack([h.roll(k) for k in range(4)])
    return (
        sum(h[j] * h.roll(j - 1) for j in range(3)),
        turned,
        [h[: i + 1] for i in range(2)],
        [turned.sum(d) for d in range(2)],
    )


def test_comprehensions_whose_elements_need_to_know_the_round() -> None:
    agrees(with_forward(nn.Sequential(nn.Linear(5, 4)), in_comprehensions), LISTS)


def never_known(self, xs):
    return [self[0].weight.sum(len(xs)) for _ in range(3)], [self[0].weight.sum(len(xs) + i) for i in range(3)]


def test_what_no_round_knows_is_told_once_for_each_line() -> None:
    with pytest.raises(CompileError) as error:
        build(with_forward(nn.Sequential(nn.Linear(5, 4)), never_known), sample=LISTS)
    assert len(error.value.problems) == 2
