"""`totals[k] += x` of tensors in a `defaultdict(int)`: the first makes a new tensor, and the others change it."""

# mypy: ignore-errors

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward

SAMPLE = [["a", "b", "a"], ["c"], ["b", "b", "a", "b"], ["c", "a", "d"]]


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(4, 3)

    def of(self, word):
        return self.e.weight["abcd".index(word)]


def summed(self, words):
    totals = defaultdict(int)
    for word in words:
        totals[word] += self.of(word)
    return torch.stack([totals[word] for word in words])


def by_other_operators(self, words):
    totals = defaultdict(float)
    totals[words[0]] -= self.of(words[0]).sum()
    for i, word in enumerate(words):
        if i != 1:
            totals[word] += self.of(word).sum()
        for other in words:
            totals[other] -= self.of(word).sum() * 0.1
    best = max(totals, key=lambda word: totals[word].item())
    return totals[best], best, sorted(totals)


def anew_in_each_round(self, words):
    out = []
    for n in range(1, len(words) + 1):
        totals = defaultdict(int)
        for word in words[:n]:
            totals[word] += self.of(word)
        first = totals[words[0]]
        out.append(first * 2 + totals[words[n - 1]])
    return torch.stack(out)


@pytest.mark.parametrize("function", [summed, by_other_operators, anew_in_each_round], ids=lambda f: f.__name__)
def test_as_eager(function: Any) -> None:
    agrees(with_forward(Words(), function), SAMPLE)


def entry_under_a_name(self, words):
    totals, seen = None, []
    totals = defaultdict(int)
    for word in words:
        totals[word] += self.of(word)
        seen.append(totals[word])
    return torch.stack(seen)


def read_before(self, words):
    totals = defaultdict(int)
    for word in words:
        totals[word] += self.of(word)
    first = totals[words[0]]
    for word in words:
        totals[word] += self.of(word)
    return first


def read_in_the_loop(self, words):
    totals, seen = defaultdict(int), []
    for word in words:
        totals[word] += self.of(word)
        seen.append(totals[word])
    return torch.stack(seen)


def read_in_the_round_before(self, words):
    totals = defaultdict(int)
    seen = [self.of("a")]
    for word in words:
        totals[word] += self.of(word)
        seen += [totals[word]]
    return torch.stack(seen)


def given_from_outside(self, words):
    totals = defaultdict(int)
    first = self.of(words[0])
    totals[words[0]] = first
    for word in words:
        totals[word] += self.of(word)
    return first


def under_another_name(self, words):
    totals = defaultdict(int)
    other = totals
    for word in words:
        totals[word] += self.of(word)
        other["a"] = self.of(word)
    return totals[words[0]]


def seen_by_a_function(self, words):
    totals = defaultdict(int)

    def at(word):
        return totals[word]

    seen = [self.of("a")]
    for word in words:
        totals[word] += self.of(word)
        seen.append(at(word))
    return torch.stack(seen)


def of_another_default(self, words):
    shared = torch.zeros(3)
    totals = defaultdict(lambda: shared)
    for word in words:
        totals[word] += self.of(word)
    return shared


def of_another_shape(self, words):
    totals = defaultdict(int)
    for word in words:
        totals[word] += self.of(word).sum()
        totals[word] += self.of(word)
    return totals[words[0]]


REFUSED = [
    entry_under_a_name, read_before, read_in_the_loop, read_in_the_round_before, given_from_outside, under_another_name,
    seen_by_a_function, of_another_default, of_another_shape,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_tensors_that_may_be_seen_elsewhere_are_not_changed(function: Any) -> None:
    with pytest.raises(CompileError):
        build(with_forward(Words(), function), sample=SAMPLE)
