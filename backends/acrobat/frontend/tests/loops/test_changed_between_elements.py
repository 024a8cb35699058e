"""Iterators whose elements are computed from fields of objects, while something changes these fields under other names: Python
computes an element when it is taken."""

# mypy: ignore-errors

from __future__ import annotations

from pathlib import Path

import pytest
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2, 6, 7, 8], [2, 2]]


class Node:
    def __init__(self, x):
        self.x = x
        self.children = []


def made(xs):
    root = Node(0)
    at = root
    for x in xs:
        node = Node(x)
        at.children.append(node)
        if x % 2:
            at = node
    return root


class Model(nn.Module):
    def values(self, nodes):
        for node in nodes:
            yield node.x

    def walk(self, node):
        yield node
        for child in node.children:
            yield from self.walk(child)

    def grown(self, node):
        for k in range(2):
            yield Node(node.x + k)

    def add_to(self, node, values):
        for y in values:
            node.x += y
        return node.x


def marks_what_it_walks_over(self, xs):
    """What the body writes is nothing that the function reads."""
    root = made(xs)
    for node in self.walk(root):
        node.x += 1
    return [node.x for node in self.walk(root)]


def makes_others(self, xs):
    """New objects are no change of those that are read."""
    beam = [made(xs)]
    beam[0].x += 1
    for _ in range(2):
        following = []
        for node in beam:
            for other in self.grown(node):
                following.append(Node(other.x + 1))
        beam = following
    return [node.x for node in beam]


def of_lists(self, xs):
    """What is no iterator, or is taken at once, is as it was when the loop began in Python, too."""
    nodes = [Node(x) for x in xs]
    for node, y in zip(nodes, [2 * node.x for node in nodes]):  # noqa: B905
        node.x = y
    for i, node in enumerate(nodes):
        node.x += i
    for node in sorted(nodes, key=lambda node: node.x):
        node.x -= 1
    for y in list(self.values(nodes)):
        nodes[-1].x += y
    return [node.x for node in nodes]


def named_and_used_before(self, xs):
    nodes = [Node(x) for x in xs]
    values = (node.x for node in nodes)
    total = sum(values)
    nodes[-1].x += 1
    return total, nodes[-1].x


@pytest.mark.parametrize("function", [marks_what_it_walks_over, makes_others, of_lists, named_and_used_before])
def test_as_in_python(function):
    agrees(with_forward(Model(), function), LISTS)


def test_natively(codegen: str, tmp_path: Path):
    agrees_natively(with_forward(Model(), marks_what_it_walks_over), LISTS, codegen, tmp_path)


def in_a_function(self, xs):
    nodes, out = [Node(x) for x in xs], []
    last = nodes[-1]
    for y in self.values(nodes):
        last.x += 1
        out.append(y)
    return out


def until_a_break(self, xs):
    nodes, out = [Node(x) for x in xs], []
    last = nodes[-1]
    for i, y in enumerate(self.values(nodes)):
        last.x += i
        out.append(y)
        if y > 50:
            break
    return out


def until_a_return(self, xs):
    nodes, out = [Node(x) for x in xs], []
    last = nodes[-1]
    for y in self.values(nodes):
        last.x += 1
        out.append(y)
        if y > 50:
            return out
    return out


def in_an_expression(self, xs):
    nodes, out = [Node(x) for x in xs], []
    last = nodes[-1]
    for y in (node.x for node in nodes):
        last.x += 1
        out.append(y)
    return out


def by_map(self, xs):
    nodes, out = [Node(x) for x in xs], []
    last = nodes[-1]
    for y, z in zip(map(lambda node: node.x, nodes), xs):  # noqa: B905, C417
        last.x += z
        out.append(y)
    return out


def under_a_name(self, xs):
    nodes = [Node(x) for x in xs]
    last = nodes[-1]
    values = (node.x for node in nodes)
    last.x += 1
    return list(values)


def of_a_function_under_a_name(self, xs):
    nodes = [Node(x) for x in xs]
    last = nodes[-1]
    values = self.values(nodes)
    last.x += 1
    return list(values)


def as_an_argument(self, xs):
    nodes = [Node(x) for x in xs]
    last = nodes[-1]
    last.x += 1
    return self.add_to(last, self.values(nodes))


@pytest.mark.parametrize("function", [in_a_function, until_a_break, until_a_return])
def test_changed_between_the_values_of_a_function(function):
    agrees(with_forward(Model(), function), LISTS)


REFUSED = [
    in_an_expression,
    by_map,
    under_a_name,
    of_a_function_under_a_name,
    as_an_argument,
]


@pytest.mark.parametrize("function", REFUSED)
def test_changed_meanwhile(function):
    with pytest.raises(CompileError, match=r"run by turns, and both use|is changed between|changes meanwhile"):
        build(with_forward(Model(), function), sample=LISTS)
