"""Dictionaries that are compared with `==`: their entries count, and not the order of these."""

# mypy: ignore-errors

from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

WORDS = [[1, 2, 2, 1], [3], [3, 3, 5], []]


def made_and_given(self, both):
    a, b = both
    return a == b, a != b, {k: len(k) for k in a} == {k: len(k) for k in b}


def among_others(self, xs):
    seen = []
    for k in xs:
        counts = {}
        for j in range(k):
            counts[j] = k
        if counts not in seen:
            seen.append(counts)
    return len(seen), {1: 2} == {1: 2}, {} == {}


def inside_of_others(self, xs):
    one, other = {}, {}
    for i, x in enumerate(xs):
        one[x] = {j: [x] for j in range(i)}
    for i, x in reversed(list(enumerate(xs))):
        other[x] = {j: [x] for j in reversed(range(i))}
    before = one == other
    other[7] = {}
    return before, one == other


GIVEN = [
    ({"x": 1, "y": 2}, {"y": 2, "x": 1}),
    ({"x": 1, "y": 2}, {"y": 2, "x": 3}),
    ({"x": 1}, {"z": 1}),
    ({"q": 1}, {"q": 1, "z": 1}),
    ({}, {}),
]
CASES = {"given": (made_and_given, GIVEN), "among": (among_others, WORDS), "inside": (inside_of_others, [[1, 2], [3], []])}


@pytest.mark.parametrize("name", CASES)
def test_as_in_python(name):
    function, instances = CASES[name]
    agrees(with_forward(nn.Module(), function), instances)


def test_in_generated_code(tmp_path):
    agrees_natively(with_forward(nn.Module(), among_others), WORDS, "vm", tmp_path)


class Plans(nn.Module):
    """The words under one name of dictionaries with values of many types, as keys."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, 2)

    def walk(self, node, found):
        for child in node.get("plans", []):
            self.walk(child, found)
        found.append((node["kind"], self.a(torch.tensor([node["cost"]]))))

    def forward(self, node):
        found, sums = [], {}
        self.walk(node, found)
        for kind, h in found:
            sums[kind] = sums[kind] + h if kind in sums else h
        return sums


def test_keys_that_are_values_of_json():
    leaf = {"kind": "scan", "cost": 2.0, "rows": 7}
    join = {"kind": "join", "cost": 3.0, "plans": [leaf, leaf], "on": {"left": "a", "right": "b"}}
    top = {"kind": "sort", "cost": 1.5, "plans": [join], "keys": ["a", "b"]}
    agrees(Plans(), [leaf, join, top, {"kind": "sort", "cost": 1.0, "plans": [top, leaf], "keys": ["a"]}])


def test_counters_are_refused():
    def forward(self, xs):
        return Counter(xs) == Counter(xs[1:])

    with pytest.raises(CompileError, match="cannot be compared"):
        build(with_forward(nn.Module(), forward), sample=WORDS)
