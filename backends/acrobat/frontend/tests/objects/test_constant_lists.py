"""Constant lists of the source, such as the right sides of a grammar's rules, among values that are known at run time only."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.tests.test_idioms import module
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.tests.zoo.check import agrees

RULES = [("s", "pair", ["s", "n"]), ("s", "end", []), ("n", "name", []), ("n", "copy", ["n"])]
SIDES = ["s", "n"]
BOTH = [1, 2]


def options(x):
    return [i for i, (left, name, right) in enumerate(RULES) if left == SIDES[x] and (x < 1 or "n" not in right)]


def right_sides(x):
    return [right for left, name, right in RULES if left == SIDES[x]]


def lengths(x):
    return sum(len(right) for left, name, right in RULES if left == SIDES[x])


def one_rule(x):
    _, name, right = RULES[x]
    return name.upper() if right else name, right


def appended(x):
    out = []
    for i in range(x + 1):
        out.append((i, BOTH))
    out.insert(0, (7, BOTH))
    return out


def beside(x):
    return [(1, BOTH), (2, [x])], [BOTH for i in range(x)]


@pytest.mark.parametrize("function", [options, right_sides, lengths, one_rule, appended, beside])
def test_constant_lists_become_lists_of_the_program(function: Any) -> None:
    interpreter = Interpreter(build(module(function), sample=[0, 1]))
    assert [interpreter.run(x) for x in (0, 1)] == [function(x) for x in (0, 1)]


def changed(x):
    out = []
    for _ in range(x):
        out.append(BOTH)
    out[0].append(x)
    return out


def changed_in_tuple(x):
    out = [(1, BOTH), (2, [x])]
    out[0][1].append(x)
    return out


def changed_in_loop(x):
    rules = [(name, right) for left, name, right in RULES if left == SIDES[x]]
    for _, right in rules:
        right.append("s")
    return rules


@pytest.mark.parametrize("function", [changed, changed_in_tuple, changed_in_loop])
def test_a_constant_list_is_not_changed(function: Any) -> None:
    with pytest.raises(CompileError, match="may be seen"):
        build(module(function), sample=[0, 1])


ALLOWED = {"s": [2, 0], "n": [1, 1, -1]}
"""Indices by the name of a symbol; `CHOSEN` is a constant everywhere."""
CHOSEN = [2, 0]
FLAGS = [True, False, True]


def by_lists(x):
    table = torch.arange(9).float().view(3, 3)
    return table[CHOSEN], table[:, CHOSEN], table[CHOSEN, CHOSEN], table[ALLOWED[x]] + table[CHOSEN][[0]]


def put_by_list(x):
    row = torch.zeros(3) + len(x)
    row[CHOSEN] = 1.5
    return row


def by_constant_or_not(x):
    def chosen(symbol, deep):
        total = (torch.arange(4).float() + deep)[ALLOWED[symbol]].sum()
        return total + chosen("n", deep - 1) if deep > 0 else total

    return chosen(x, 2)


@pytest.mark.parametrize("function", [by_lists, put_by_list, by_constant_or_not])
def test_tensors_are_indexed_by_constant_lists(function: Any) -> None:
    agrees(module(function), ["s", "n"])


def by_flags(x):
    return (torch.zeros(3) + x)[FLAGS]


def by_written_flags(x):
    return (torch.zeros(3) + x)[[True, False, True]]


def put_by_flags(x):
    row = torch.zeros(3) + x
    row[FLAGS] = 0.0
    return row


@pytest.mark.parametrize("function", [by_flags, by_written_flags, put_by_flags])
def test_lists_of_bools_are_no_indices(function: Any) -> None:
    """They are masks in PyTorch; as ints they would name the parts 0 and 1."""
    with pytest.raises(CompileError, match="a list of bools is no index here"):
        build(module(function), sample=[1, 2])


PLACES: list[dict[str, Any]] = [{"name": "siam", "food": "thai", "n": 1}, {"name": "bistro", "food": "french", "n": 2}]
TREES: list[dict[str, Any]] = [{"a": {"u": 1, "v": [1]}, "b": None}, {"a": {"u": 2, "v": []}, "b": 3}]


def joined(x):
    found = [side for side in ["n", "q", "r"][:x] if side not in SIDES]
    words = SIDES + found
    words.append("end")
    return words, found + SIDES, SIDES * x, len(SIDES)


def entries_by_condition(x):
    names = [place["name"] for place in PLACES if place["n"] > x]
    return names, [i for i, place in enumerate(PLACES) if place["food"] == ["thai", "french", "none"][x]]


def entries_of_pairs(x):
    pairs = [(i, place["n"]) for i in range(x) for place in PLACES if place["n"] != i]
    return pairs, sum(place["n"] for place in PLACES if place["n"] <= x)


def one_entry(x):
    place, tree = PLACES[min(x, 1)], TREES[x - 1]
    return "{name} has {food}".format(**place), place["n"], tree["a"]["u"], len(tree["a"]["v"]), tree["b"] is None


@pytest.mark.parametrize("function", [joined, entries_by_condition, entries_of_pairs, one_entry])
def test_constant_lists_meet_lists_of_run_time(function: Any) -> None:
    agrees(module(function), [0, 1, 2])


def changes_an_entry(x):
    place = PLACES[x]
    place["n"] = 7
    return place["n"]


def changes_inside(x):
    tree = TREES[x]
    tree["a"]["v"].append(1)
    return tree["a"]["v"]


@pytest.mark.parametrize("function", [changes_an_entry, changes_inside])
def test_constant_dictionaries_are_not_changed(function: Any) -> None:
    with pytest.raises(CompileError, match="changes an object that may be seen under another name"):
        build(module(function), sample=[0, 1])
