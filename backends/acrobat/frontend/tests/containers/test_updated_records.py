"""Dictionaries whose keys are names: `update`, `|=`, `|`, `pop` and `del`, also in branches. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward

SAMPLE = [[1, 2, 3], [4], [2, 2, 0, 1]]


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)


def by_name(self, xs):
    result = {"n": len(xs), "rows": [], "answer": None}
    if len(xs) == 1:
        return result
    result.update(rows=xs[1:], score=self.e.weight[xs[0]], answer="many")
    return result


def in_a_branch(self, xs):
    result = {"n": len(xs)}
    if len(xs) > 1:
        result.update(best=self.e.weight[xs[0]], n=7)
    result.update(last=xs[-1])
    return result


def of_dictionaries(self, xs):
    first, more = {"n": len(xs), "rows": []}, {"n": 3, "t": self.e.weight[1]}
    first.update({"k": 2, "score": self.e.weight[0]})
    first.update(more)
    first |= {"n": xs[0]}
    second = {"n": 0} | more
    return first, second


def begun_empty(self, xs):
    first, second = {}, {}
    first.update({"n": len(xs), "t": self.e.weight[0]})
    second.update(k=len(xs), m=self.e.weight[0])
    return first, second


def of_pairs_and_more(self, xs):
    pairs, both, counts = {"n": 1}, {"a": 1, "b": 2}, Counter()
    pairs.update(zip(["a", "b"], [len(xs), 3], strict=True))
    both.update({"a": 5}, b=len(xs))
    both.update(b=both["a"] + 1, c=both["b"])
    counts.update(a=1, b=len(xs))
    counts.update(a=4)
    return pairs, both, sorted(counts.items())


def read_before_they_change(self, xs):
    result = {"n": len(xs), "m": 1}
    result.update(n=result["m"], m=result["n"])
    for x in xs:
        result.update(n=result["n"] + x, m=x)
    return result


def lists_put_in(self, xs):
    result = {"a": 1}
    result.update(rows=[])
    for x in xs:
        result["rows"].append(x)
    return result


def taken_out(self, xs):
    result = {"a": xs[0], "b": self.e.weight[0], "c": 3}
    a = result.pop("a")
    missing = result.pop("d", -1)
    if len(xs) > 1:
        del result["c"]
    c = result.pop("c", 5)
    return result, a, missing, c


FUNCTIONS = [
    by_name,
    in_a_branch,
    of_dictionaries,
    begun_empty,
    of_pairs_and_more,
    read_before_they_change,
    lists_put_in,
    taken_out,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_eager(function: Any) -> None:
    agrees(with_forward(Words(), function), SAMPLE)


def under_another_name(self, xs):
    result = {"n": len(xs)}
    other = result
    result.update(n=0)
    return other


def by_operator(self, xs):
    result = {"n": len(xs)}
    other = result
    result |= {"n": 0}
    return other


@pytest.mark.parametrize("function", [under_another_name, by_operator])
def test_a_dictionary_with_two_names(function: Any) -> None:
    agrees(with_forward(Words(), function), SAMPLE)
