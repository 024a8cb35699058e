"""Nested functions that remember their results by a cache of Python's."""

from __future__ import annotations

import functools
from functools import lru_cache

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 4)
        self.words = nn.Embedding(10, 4)


def best_sum(self, numbers):
    @lru_cache(maxsize=None)  # noqa: UP033
    def best(i):
        if i >= len(numbers):
            return 0.0
        return max(best(i + 1), numbers[i] + best(i + 2))

    return best(0)


def spans(self, words):
    """Each span is computed once; without the memo there would be exponentially many."""

    @functools.cache
    def span(i, j=None):
        j = len(words) if j is None else j
        if j - i == 1:
            return self.words.weight[words[i]], 1
        parts = [(span(i, k), span(k, j)) for k in range(i + 1, j)]
        vector = torch.tanh(sum(self.linear(left[0]) * right[0] for left, right in parts))
        return vector, sum(left[1] + right[1] for left, right in parts)

    return span(0)


def depths(self, parents):
    """Two functions, of which one calls the other."""

    @lru_cache
    def depth(node):
        return 1 + max([depth(p) for p in parents[node]], default=0)

    @lru_cache(None)
    def state(node):
        if not parents[node]:
            return self.words(torch.tensor(node))
        return torch.tanh(self.linear(torch.stack([state(p) for p in parents[node]]).sum(0))) * depth(node)

    return torch.stack([state(node) for node in sorted(parents)]).sum(0), depth(max(parents))


NUMBERS = [[1.0, 2.0, 3.0], [0.5], [4.0, 1.0, 1.0, 9.0], []]
WORDS = [[1, 2, 3], [4], [1, 2, 3, 4, 5, 6]]
GRAPHS = [{0: [], 1: [0], 2: [0, 1]}, {0: []}, {0: [], 1: [0], 2: [1, 0], 3: [2, 1, 0]}]
WORK = [(best_sum, NUMBERS), (spans, WORDS), (depths, GRAPHS)]


@pytest.mark.parametrize(("forward", "instances"), WORK)
def test_as_in_python(forward, instances) -> None:
    agrees(with_forward(Model(), forward), instances)


def test_in_generated_code(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Model(), spans), WORDS, codegen, tmp_path)


def test_other_parameters_keep_the_decorator() -> None:
    def forward(self, words):
        @functools.cache
        def total(*xs):
            return sum(xs)

        return total(1, 2)

    with pytest.raises(CompileError, match=r"`total` is decorated with `functools\.cache`"):
        build(with_forward(Model(), forward), sample=WORDS)


CALLS = [1, 3, 7]


def counted(self, n):
    """What the function changes happens once for each argument."""
    calls = []

    @functools.cache
    def double(i):
        calls.append(i)
        return 2 * i

    return [double(i % 3) for i in range(n)], calls


def forgetting(self, n):
    """Python computes some results several times, which does not show."""

    @lru_cache(maxsize=1)
    def double(i, factor=2):
        return factor * i

    return [double(i % 3) for i in range(n)], double(n, factor=2), double(n, 2)


@pytest.mark.parametrize("forward", [counted, forgetting])
def test_how_often_a_result_is_computed(forward) -> None:
    agrees(with_forward(Model(), forward), CALLS)


def forgetting_and_changing(self, n):
    calls = []

    @lru_cache(maxsize=2)
    def double(i):
        calls.append(i)
        return 2 * i

    return [double(i % 3) for i in range(n)], calls


def written_in_two_ways(self, n):
    calls = 0

    @functools.cache
    def double(i, factor=2):
        nonlocal calls
        calls += 1
        return factor * i

    return double(n), double(n, 2), calls


def cache(function):
    return lambda i: function(i) + 100


def of_its_own(self, n):
    @cache
    def double(i):
        return 2 * i

    return double(n)


@pytest.mark.parametrize("forward", [forgetting_and_changing, written_in_two_ways, of_its_own])
def test_what_would_be_computed_another_number_of_times(forward) -> None:
    with pytest.raises(CompileError, match="`double` is decorated with"):
        build(with_forward(Model(), forward), sample=CALLS)
