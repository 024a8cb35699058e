"""Names for an iterator or None; fields that are a number first and a tensor later; fields that have no rows in one case."""

# mypy: ignore-errors

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[1], [1, 3, 3], [4, 2], [3]]


@dataclass
class Example:
    words: list[int]
    gold: list[int] | None = None


def two_ways(self, example):
    gold = None if example.gold is None else iter(example.gold)
    given = iter(example.gold) if example.gold is not None else None
    out = []
    for w in example.words:
        a = w if gold is None else next(gold)
        if given is not None:
            a += 10 * next(given)
        out.append(a)
    return out


EXAMPLES = [Example([1, 2]), Example([3, 1], [5, 6, 7]), Example([], [])]


def test_an_iterator_or_none() -> None:
    agrees(with_forward(nn.Module(), two_ways), EXAMPLES)


def test_an_iterator_that_is_exhausted() -> None:
    program = build(with_forward(nn.Module(), two_ways), sample=EXAMPLES)
    with pytest.raises(InstanceError):
        Interpreter(program).run(Example([1, 2, 3], [5]))


def used_otherwise(self, example):
    gold = None if example.gold is None else iter(example.gold)
    return [next(gold, 7) for _ in example.words], gold


def test_other_uses_are_refused() -> None:
    with pytest.raises(CompileError):
        build(with_forward(nn.Module(), used_otherwise), sample=EXAMPLES)


@dataclass
class Span:
    i: int
    score: float = 0.0
    h: Tensor | None = None


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.emb = nn.Linear(3, 1), nn.Embedding(10, 3)


def scored_later(self, xs):
    spans = [Span(x) for x in xs]
    for s in spans:
        s.h = self.emb.weight[s.i]
    for s, v in zip(spans, self.linear(torch.stack([s.h for s in spans])).squeeze(-1), strict=True):
        s.score = v
    top = sorted(spans, key=lambda s: s.score.item(), reverse=True)
    return torch.stack([s.score for s in top]), top[0].score + 1, [s.i for s in top]


def scored_in_part(self, xs):
    spans = [Span(x) for x in xs]
    for s in spans:
        if s.i > 2:
            s.score = self.linear(self.emb.weight[s.i])[0]
    return [s.score for s in spans], spans[0].score


@pytest.mark.parametrize("forward", [scored_later, scored_in_part])
def test_numbers_in_fields_that_get_tensors(forward) -> None:
    agrees(with_forward(Scorer(), forward), LISTS)


def no_rows(self, xs):
    found = [self.emb.weight[x] for x in xs if x > 2]
    return {"rows": torch.stack(found) if found else torch.zeros(0, 3), "count": len(found)}


def test_rows_of_a_field_of_which_there_are_none() -> None:
    agrees(with_forward(Scorer(), no_rows), LISTS)
