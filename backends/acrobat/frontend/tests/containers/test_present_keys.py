"""Look-ups of keys that a `defaultdict` has, in lambdas that are given its keys."""

# mypy: ignore-errors

from __future__ import annotations

from collections import defaultdict

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3, 1, 3], [1], [1, 2, 2, 3, 3, 3], [5, 1, 4, 1, 2, 1]]


def most_frequent(self, xs):
    counts = defaultdict(int)
    for x in xs:
        counts[x] += 1
    return max(counts, key=lambda x: counts[x]), dict(counts)


def by_length(self, xs):
    groups = defaultdict(list)
    for x in xs:
        groups[x % 2].append(x)
    ordered = sorted(groups.keys(), key=lambda k: (len(groups[k]), k))
    return ordered, min(list(groups), key=lambda k: groups[k][0]), len(groups)


def of_some_keys(self, xs):
    counts = defaultdict(int)
    for x in xs:
        counts[x] += 1
    return max((k for k in counts if k > 1), key=lambda k: counts[k], default=0)


def mapped_and_filtered(self, xs):
    counts = defaultdict(int)
    for x in xs:
        counts[x] += 1
    return list(map(lambda k: counts[k] * 2, counts)), list(filter(lambda k: counts[k] > 1, counts)), len(counts)  # noqa: C417


def most_probable(self, xs):
    probabilities = defaultdict(float)
    for x, p in zip(xs, torch.softmax(torch.tensor(xs, dtype=torch.float32), dim=0), strict=True):
        probabilities[x] = probabilities[x] + p
    best = max(probabilities, key=lambda w: probabilities[w].item())
    return best, probabilities[best].log()


class Kept(nn.Module):
    """The dictionary is an attribute."""

    def forward(self, xs):
        self.counts = defaultdict(int)
        for x in xs:
            self.counts[x] += 1
        return max(self.counts, key=lambda x: self.counts[x]), len(self.counts)


@pytest.mark.parametrize("forward", [most_frequent, by_length, of_some_keys, mapped_and_filtered, most_probable])
def test_keys_that_are_there(forward) -> None:
    agrees(with_forward(nn.Module(), forward), LISTS)


def test_a_dictionary_of_a_module() -> None:
    agrees(Kept(), LISTS)


def other_keys(self, xs):
    counts = defaultdict(int)
    for x in xs:
        counts[x] += 1
    return max(counts, key=lambda x: counts[x + 1]), len(counts)


def another_dictionary(self, xs):
    counts, others = defaultdict(int), {1: 2, 3: 4}
    for x in xs:
        counts[x] += 1
    return max(others, key=lambda x: counts[x]), len(counts)


@pytest.mark.parametrize("forward", [other_keys, another_dictionary])
def test_keys_that_may_be_missing_are_refused(forward) -> None:
    with pytest.raises(CompileError, match="a lambda changes `counts`"):
        build(with_forward(nn.Module(), forward), sample=LISTS)
