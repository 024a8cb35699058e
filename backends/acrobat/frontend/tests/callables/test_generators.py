"""Functions with `yield` that end early: what they gave until then is what the caller walks over."""

from __future__ import annotations

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward


def counted_down(n):
    if n == 0:
        return
    yield n
    yield from counted_down(n - 1)


def paths(graph, at, target, limit=3):
    if at == target:
        yield []
        return
    if limit == 0:
        return None
    for label, to in graph.get(at, []):
        for rest in paths(graph, to, target, limit - 1):
            yield [label, *rest]


def until(xs, end):
    for x in xs:
        if x == end:
            return len(xs)  # nobody sees that
        try:
            yield x
        finally:
            pass
    else:
        yield -1


def of_recursion(self, n):
    return list(counted_down(n))


def of_paths(self, query):
    graph, source, target = query
    return ["/".join(p) for p in paths(graph, source, target)]


def of_loop(self, xs):
    return list(until(xs, 0)), sum(until(xs, 1))


GRAPHS = [
    ({"a": [("x", "b"), ("y", "c")], "b": [("y", "c")]}, "a", "c"),
    ({}, "a", "b"),
    ({"a": [("x", "b")], "b": [("x", "a"), ("y", "d")], "d": [("x", "c")]}, "a", "c"),
    ({"a": [("x", "b")]}, "b", "b"),
]


@pytest.mark.parametrize(
    ("function", "sample"), [(of_recursion, [0, 1, 4]), (of_paths, GRAPHS), (of_loop, [[], [0], [1, 2], [3, 0, 1], [4, 1, 0]])]
)
def test_an_early_return_gives_what_was_yielded(function, sample) -> None:
    agrees(with_forward(nn.Module(), function), sample)
