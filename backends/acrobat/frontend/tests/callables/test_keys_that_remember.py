"""Functions that change something, as keys of `sorted`, `min` and `max`, and generators that do, whose values are put into a
list at once; sets that are taken apart."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3]]


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(10, 3)

    def counted(self, n):
        self.calls += 1
        return n % 3

    def paths(self, n, path):
        self.calls += 1
        if n <= 0:
            yield path
            return
        for step in (1, 2) if n > 1 else (1,):
            yield from self.paths(n - step, [*path, step])


def remembered(self, numbers):
    scores = {}

    def key(n):
        if n not in scores:
            scores[n] = float(n * n % 5)
        return (scores[n], n)

    return sorted(numbers, key=key), max(numbers, key=key), len(scores)


def tensors(self, numbers):
    scores = {}

    def score(n):
        if n not in scores:
            scores[n] = self.emb.weight[n].sum()
        return scores[n]

    return min(numbers, key=score), list(scores.values())


def in_an_attribute(self, numbers):
    self.calls = 0
    return sorted(numbers, key=self.counted, reverse=True), self.calls


def put_in_at_once(self, numbers):
    self.calls, found = 0, []
    for n in numbers:
        found.extend(self.paths(n % 4, []))
    return found, self.calls


def one_of_a_set(self, numbers):
    distinct = set(numbers)
    if len(distinct) == 1:
        (only,) = distinct
        return only
    [largest] = {max(distinct)}
    return -largest


CASES = [remembered, tensors, in_an_attribute, put_in_at_once, one_of_a_set]


@pytest.mark.parametrize("function", CASES)
def test_as_eager(function) -> None:
    agrees(with_forward(Scorer(), function), NUMBERS)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Scorer(), put_in_at_once), NUMBERS, codegen, tmp_path)


def test_two_of_a_set_have_no_order() -> None:
    def two(self, numbers):
        a, b = {numbers[0], numbers[0] + 1}
        return a - b

    with pytest.raises(CompileError, match="the order of a set is not known"):
        build(with_forward(Scorer(), two), sample=NUMBERS)
