"""Sets of a constant dictionary, looked up by keys that are known at run time only, against eager PyTorch."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward

SAMPLE = [[3, 5, 70], [1], [79, 0], [2]]
S = {"a": {"x", "y"}, "b": {"y"}, "c": set()}
S2 = {"a": {"x", "y"}, "b": {"y"}, "c": {"z"}}
L = {"a": ["x", "y"], "b": ["y"], "c": []}
K = ["a", "b", "c"]


def among_sets(self, xs):
    k = K[xs[0] % 3]
    return [w in S[k] for w in ("x", "y", "z")]


def among_sets_that_are_not_empty(self, xs):
    k = K[xs[0] % 3]
    return [w in S2[k] for w in ("x", "y", "z")]


def an_empty_one(self, xs):
    k = K[xs[0] % 3]
    if not S[k]:
        return 0
    return len(S[k])


def among_lists(self, xs):
    k = K[xs[0] % 3]
    if not L[k]:
        return 0
    return sum(len(w) for w in L[k]) + len(L[k])


def with_a_name(self, xs):
    k = K[xs[0] % 3]
    allowed = S[k]
    out = []
    for w in ("x", "y", "z"):
        if w != "x" and w not in allowed:
            out.append(w)
    return out, len(allowed)


def in_order(self, xs):
    return sorted(S[K[xs[0] % 3]])


F = {"a": frozenset([1, 2]), "b": frozenset(), "c": frozenset([7])}


def with_a_default(self, xs):
    k = ["a", "b", "q"][xs[0] % 3]
    return [x for x in xs if x in F.get(k, set())], [w in S.get(k, {"x"}) for w in ("x", "y")]


def operators(self, xs):
    k = K[xs[0] % 3]
    n = 0
    for w in S[k]:
        n += len(w)
    return n, len(S[k] | {"q"}), len(S[k] & S["a"]), S[k] <= S["a"], "x" in S[k] and "y" in S[k]


def by_ints(self, xs):
    t = {0: {1, 2}, 1: set(), 2: {5}}
    return [x for x in xs if x in t[xs[0] % 3]]


def copied(self, xs):
    s = S[K[xs[0] % 3]]
    t = set(s)
    t.add("w")
    return len(t), len(s), sorted(s | t)


FUNCTIONS = [
    among_sets,
    among_sets_that_are_not_empty,
    an_empty_one,
    among_lists,
    with_a_name,
    in_order,
    with_a_default,
    operators,
    by_ints,
    copied,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_they_give_eagers_results(function):
    agrees(with_forward(nn.Identity(), function), SAMPLE)
