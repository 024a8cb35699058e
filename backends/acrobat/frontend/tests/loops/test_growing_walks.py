"""Loops over lists that get longer in them, as a search breadth first has, and lists that such a loop gives back."""

# mypy: ignore-errors

from __future__ import annotations

import ast
from itertools import pairwise

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.frontend.evaluator.syntax.own_elements import is_own_element
from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3, 1], [1, 2, 3], [5, 1, 4, 1, 2], [2, 2], [7, 7, 1, 0, 3, 3], [0, 5]]


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.e = nn.Embedding(10, 4)


class Graph:
    def __init__(self, xs):
        self.near, self.rings, self.names = [[] for _ in range(10)], [], []
        for a, b in pairwise(xs):
            if self.near[a] and self.near[b]:
                self.rings.append(self.path(a, b))
            self.link(a, b)
            self.names.append(f"{a}{b}")

    def link(self, a, b):
        for one, other in ((a, b), (b, a)):
            self.near[one].append(other)

    def path(self, a, b):  # noqa: RET503 (it ends without `return`)
        paths, seen = [[a]], {a}
        for path in paths:
            if path[-1] == b:
                return path
            for near in self.near[path[-1]]:
                if near not in seen:
                    seen.add(near)
                    paths.append([*path, near])


def paths_in_an_attribute(self, xs):
    graph = Graph(xs)
    found = graph.path(xs[0], xs[-1])
    return graph.rings, graph.near, graph.names, found, self.e.weight[found[0]]


def with_else_and_continue(self, xs):
    agenda, total, last = [xs[0]], torch.zeros(4), None
    for i, x in enumerate(agenda):
        if x % 2 == 0 and i < 3:
            agenda.append(x + 1)
            continue
        if x == 7:
            last = "seven"
            break
        total = total + self.e.weight[x % 10]
        if len(agenda) < 6:
            agenda.extend([x + 1, x + 2])
    else:
        last = "end"
    return agenda, total, last


def with_elements_put_before(self, xs):
    items, seen = list(xs), []
    for x in items:
        seen.append(x)
        if len(items) < 8:
            items.insert(0, x + 1)
        for y in seen:
            if len(seen) < 3:
                seen.append(y + 1)
    return items, seen, self.e.weight[len(items)]


@pytest.mark.parametrize("forward", [paths_in_an_attribute, with_else_and_continue, with_elements_put_before])
def test_lists_that_get_longer(forward) -> None:
    agrees(with_forward(Words(), forward), LISTS)


def of_a_list_that_is_given(self, xs):
    for x in xs:
        if len(xs) < 4:
            xs.append(x)
    return self.e.weight[len(xs)]


def of_a_name_with_another_list(self, xs):
    items = xs
    for x in items:
        if len(items) < 4:
            items.append(x)
    return self.e.weight[len(items)]


@pytest.mark.parametrize("forward", [of_a_list_that_is_given, of_a_name_with_another_list])
def test_other_lists_are_refused(forward) -> None:
    with pytest.raises(CompileError):
        build(with_forward(Words(), forward), sample=LISTS)


OWN = """
def function(self, a):
    paths = [[a]]
    for path in paths:
        if path[-1] == a:
            return path
        paths.append(path + [a])
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return path", "self.best = path; return path"),
        ("return path", "self.put(path); return path"),
        ("return path", "path = a; return path"),
        ("return path", "other = paths[0]; return path"),
        ("return path", "self.all = paths; return path"),
        ("return path", "all = [path]; return path"),
        ("return path", "f = lambda: path; return path"),
        ("paths.append(path + [a])", "paths.append(a)"),
        ("paths.append(path + [a])", "paths.extend(a)"),
        ("[[a]]", "[a]"),
        ("[[a]]", "self.paths"),
    ],
)
def test_elements_to_which_nothing_else_refers(before, after) -> None:
    (definition,) = ast.parse(OWN).body
    assert is_own_element(definition, "path")
    (other,) = ast.parse(OWN.replace(before, after, 1)).body
    assert not is_own_element(other, "path")
