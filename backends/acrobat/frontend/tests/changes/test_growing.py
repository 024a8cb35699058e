"""What is put into an empty list, set or dictionary is there, also where its own type is not known yet: None, or an empty list;
and dictionaries of names that get further names."""

# mypy: ignore-errors
# ruff: noqa: RUF005, PERF402, B007
from __future__ import annotations

import heapq
from collections import deque

import pytest
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[], [3], [1, 2, 3], [5, 1, 4, 1]]


def none_first(self, xs):
    found, before = [], []
    found.append(None)
    before.insert(0, None)
    before.extend([None])
    for x in xs:
        found.append(x)
        before.append(x)
    return found, before, [*found[:1], 7]


def by_what_is_walked_over(self, xs):
    found = []
    if len(xs) > 1:
        found += range(1, 4)
    found += (7, len(xs))
    found += range(len(xs))
    found += dict.fromkeys(xs, 2)
    rows = [[0]]
    rows += ([8], [len(xs)])
    rows[-1].append(9)
    return found, rows


def empty_lists_first(self, xs):
    found = []
    found.append([])
    found.insert(0, [])
    for x in xs:
        found.append([x])
        found[-2].append(x)
    found.reverse()
    return found


def at_both_ends(self, xs):
    found = deque()
    found.append([])
    found.appendleft([1])
    for x in xs:
        found.appendleft([x])
    return list(found)


def by_slices(self, xs):
    found = []
    found[0:0] = [None]
    found[0:0] = [7]
    for x in xs:
        found.append(x)
    return found


def by_sums(self, xs):
    found = []
    found = found + [None]
    for x in xs:
        found = found + [x]
    return found


def entries(self, xs):
    by_number, some, tables = {0: [], 1: []}, {0: None, 1: None}, {}
    tables[5], named = {}, {}
    named["first"] = None
    for x in xs:
        by_number[x % 2].append(x)
        some[x % 2] = x
        tables[5][x] = 1
        named[f"x{x}"] = x
    return by_number, some, tables, named, len(some)


def nothing_but_none(self, xs):
    held, listed, one = {0: None, 1: None}, [], set()
    one.add(None)
    for x in xs:
        listed.append(None)
    return held, len(held), len(listed), len(one)


def pairs(self, xs):
    table, heap = {}, []
    table[5] = (None, [])
    heapq.heappush(heap, (0, []))
    for x in xs:
        table[x] = (x, [x])
        heapq.heappush(heap, (-x, [x]))
    return table, heap[0], len(heap)


@pytest.mark.parametrize(
    "function",
    [none_first, by_what_is_walked_over, empty_lists_first, at_both_ends, by_slices, by_sums, entries, nothing_but_none, pairs],
    ids=lambda f: f.__name__,
)
def test_all_elements_are_there(function):
    agrees(with_forward(nn.Module(), function), LISTS)


# ---- dictionaries of names


def further_name(self, xs):
    out = {"n": len(xs)}
    out["total"] = [sum(xs)]
    return out


def further_name_in_a_branch(self, xs):
    out = {"n": len(xs), "s": 2}
    if len(xs) > 2:
        out["more"] = sum(xs)
    out["last"] = 1
    return out, "more" in out, out.get("more", 3)


def further_name_in_a_loop(self, xs):
    out = {"x": len(xs)}
    for x in xs:
        out["y"] = x
        if "y" in out:
            out["z"] = 4
    return out


def further_name_in_a_function(self, xs):
    out = {"x": len(xs)}

    def add(found):
        found["y"] = found["x"] + 1

    add(out)
    return out["y"]


def names_of_run_time(self, xs):
    out = {"n": len(xs), "s": 2}
    for x in xs:
        out[str(x)] = out.get(str(x), 0) + 1
    out["n"] += 7
    return out, out["n"], "3" in out, list(out)


def lists_by_names_of_run_time(self, xs):
    out = {"n": [], "s": [2]}
    for x in xs:
        out[f"n{x}"] = [x]
    out["n"].append(5)
    return out


def no_identifiers(self, xs):
    names, counts = {"+": "plus", "-": "minus"}, {"a b": 1, "c": 2}
    counts["*"] = 7
    return [names["+" if x > 3 else "-"] for x in xs], counts, len(names)


def in_order(self, xs):
    out = {"b": 1}
    out["a"] = len(xs)
    return list(out), list(out.values()), sorted(out.items())


@pytest.mark.parametrize(
    "function",
    [
        further_name,
        further_name_in_a_branch,
        further_name_in_a_loop,
        further_name_in_a_function,
        names_of_run_time,
        lists_by_names_of_run_time,
        no_identifiers,
        in_order,
    ],
    ids=lambda f: f.__name__,
)
def test_further_names(function):
    agrees(with_forward(nn.Module(), function), LISTS)


def of_several_types(self, xs):
    out = {"n": 1.5, "s": 2}
    out[str(len(xs))] = 3
    return out


def test_values_of_several_types_under_names_of_run_time():
    with pytest.raises(CompileError, match="gets a new key that is known at run time only, and has values of several types"):
        build(with_forward(nn.Module(), of_several_types), sample=LISTS)
