"""The least element of a set by a key that several have, as where a tokeniser looks for the next pair to merge: taken where it
does not show which of them it is."""

# mypy: ignore-errors
from __future__ import annotations

import math

import pytest
from torch import nn

from backends.acrobat.errors import InstanceError
from backends.acrobat.frontend import build
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

RANKS = {"b": 1, "d": 0, "e": 2}


def merged(self, words):
    left, order = set(words), []
    while left:
        word = min(left, key=lambda w: RANKS.get(w, float("inf")))
        if word not in RANKS:
            break
        order.append(word)
        left.discard(word)
    return order, len(left)


def with_a_number(self, words):
    first = min(set(words), key=lambda w: RANKS.get(w, 99))
    if first not in RANKS:
        return ""
    return first + "!"


def with_ranks_of_the_instance(self, words):
    ranks = {w: i for i, w in enumerate(words) if w < "c"}
    first = min(set(words), key=lambda w: ranks.get(w, math.inf))
    if first not in ranks:
        return -1
    return ranks[first]


WORDS = [["a", "b", "c"], ["x", "y", "z"], ["e", "d", "b", "a"], ["a"], ["d", "f", "g"]]


@pytest.mark.parametrize("forward", [merged, with_a_number, with_ranks_of_the_instance])
def test_of_all_that_have_no_rank_any_is_the_least(forward):
    agrees(with_forward(nn.Module(), forward), WORDS)


def test_natively(codegen, tmp_path):
    agrees_natively(with_forward(nn.Module(), merged), WORDS, codegen, tmp_path)


def read_afterwards(self, words):
    first = min(set(words), key=lambda w: RANKS.get(w, float("inf")))
    if first not in RANKS:
        return first
    return ""


def read_elsewhere(self, words):
    for _ in range(1):
        first = min(set(words), key=lambda w: RANKS.get(w, float("inf")))
        if first not in RANKS:
            break
    return first


def another_dictionary(self, words):
    first = min(set(words), key=lambda w: RANKS.get(w, float("inf")))
    if first not in {"x": 1}:
        return "no"
    return "yes"


def not_left(self, words):
    first = min(set(words), key=lambda w: RANKS.get(w, float("inf")))
    if first not in RANKS:
        words = [*words, "q"]
    return first, len(words)


def a_default_that_some_have(self, words):
    first = min(set(words), key=lambda w: RANKS.get(w, 2))
    if first not in RANKS:
        return ""
    return first


def ranks_that_may_be_infinite(self, words):
    ranks = {w: (math.inf if w == "x" else 1.0) for w in words if w < "z"}
    first = min(set(words), key=lambda w: ranks.get(w, math.inf))
    if first not in ranks:
        return ""
    return first


@pytest.mark.parametrize(
    ("forward", "words"),
    [
        (read_afterwards, ["x", "y"]),
        (read_elsewhere, ["x", "y"]),
        (another_dictionary, ["x", "y"]),
        (not_left, ["x", "y"]),
        (a_default_that_some_have, ["e", "x"]),
        (ranks_that_may_be_infinite, ["x", "z"]),
    ],
)
def test_elsewhere_the_order_is_an_error_of_the_instance(forward, words):
    interpreter = Interpreter(build(with_forward(nn.Module(), forward), sample=WORDS))
    with pytest.raises(InstanceError, match="the order of a set is not known"):
        interpreter.run(words)


def test_two_of_the_same_rank_are_an_error_of_the_instance():
    def forward(self, words):
        ranks = dict.fromkeys(words, 1)
        first = min(set(words), key=lambda w: ranks.get(w, math.inf))
        if first not in ranks:
            return ""
        return first

    interpreter = Interpreter(build(with_forward(nn.Module(), forward), sample=WORDS))
    with pytest.raises(InstanceError, match="the order of a set is not known"):
        interpreter.run(["a", "b"])
