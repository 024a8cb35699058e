"""Lists in a list or dictionary that a comprehension has made with something in them, as adjacency lists with self-loops, are
changed in place; also as components of tuples and entries of records. Where something else refers to them it is refused."""

from __future__ import annotations

from typing import Any

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_unless_refused, with_forward

GRAPHS = [(3, [(0, 1), (1, 2)]), (1, []), (2, [(0, 0), (1, 0)])]


def neighbours(self, graph):
    n, edges = graph
    incoming = {i: [i] for i in range(n)}
    for s, d in edges:
        if s != d:
            incoming[d].append(s)
    return [incoming[i] for i in range(n)]


def several(self, graph):
    n, edges = graph
    rows = [[i, 0] for i in range(n)]
    pairs = [([i], {i}) for i in range(n)]
    tables = {i: {"in": [i], "out": []} for i in range(n)}
    kept = [list(e) for e in edges]
    sets = {i: {i} for i in range(n)}
    for s, d in edges:
        rows[d].append(s)
        pairs[d][0].append(s)
        tables[d]["in"].append(s)
        sets[d].add(s)
    for e in kept:
        e.append(7)
    return rows, [p[0] for p in pairs], [tables[i]["in"] for i in range(n)], kept, [len(sets[i]) for i in range(n)]


def pushed(self, graph):
    n, edges = graph
    by_node = {i: ([i], i) for i in range(n)}
    stack: list = [([], 0)]
    for a, b in edges:
        by_node[a][0].append(b)
        stack[-1][-2].append(a)
        if b > 0:
            stack.append(([b], 1))
    return [by_node[i][0] for i in range(n)], [s[0] for s in stack], [s[1] for s in stack]


def shared_row(self, graph):
    n, edges = graph
    row = [5]
    rows = {i: row for i in range(n)}  # noqa: C420
    for s, d in edges:
        rows[d].append(s)
    return row, rows[0]


def shared_inside(self, graph):
    n, edges = graph
    row = [5]
    rows = {i: [row] for i in range(n)}
    for s, d in edges:
        rows[d][0].append(s)
    return row, rows[0]


def seen_in_tuples(self, graph):
    n, _edges = graph
    pairs = [([n], 1)]
    first = pairs[0][0]
    pairs[0][0].append(2)
    return pairs, first


@pytest.mark.parametrize("function", [neighbours, several, pushed])
def test_as_eager(function: Any) -> None:
    agrees(with_forward(nn.Module(), function), GRAPHS)


@pytest.mark.parametrize("function", [shared_row, shared_inside, seen_in_tuples])
def test_what_is_shared_is_refused(function: Any) -> None:
    agrees_unless_refused(with_forward(nn.Module(), function), GRAPHS, "may be seen elsewhere")
