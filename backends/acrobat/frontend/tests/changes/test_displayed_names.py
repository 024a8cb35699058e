"""New objects with names that a list display puts into another object: `return Node(n, [first, second])`. The other object
alone refers to them where nothing reads the names afterwards, and may be changed inside; elsewhere it is as in eager Python,
or refused. The classes are those of the instances."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_unless_refused, with_forward


@dataclass
class Leaf:
    n: int


@dataclass
class Node:
    n: int
    items: list[Leaf | Node] = field(default_factory=list)


class Model(nn.Module):
    def total(self, tree):
        if isinstance(tree, Leaf):
            return tree.n
        return tree.n + 2 * sum([self.total(x) for x in tree.items])

    def grown(self, n):
        if n < 2:
            return Leaf(n)
        first, second = self.grown(n - 1), self.grown(n - 2)
        if isinstance(first, Node) and first.n % 2 == 0:
            first.items.append(second)
            return first
        return Node(n, [first, second])

    def nested(self, n):
        if n < 1:
            return Node(n)
        inner = self.nested(n - 1)
        inner.items.append(Leaf(n))
        return Node(n, items=[Node(2, [inner]), Leaf(3)])

    def twice(self, n):
        inner = Node(n)
        outer = Node(1, [inner, inner])
        outer.items[0].n = 5
        return outer

    def read_afterwards(self, n):
        inner = Node(n)
        outer = Node(1, [inner])
        outer.items[0].n = 5
        inner.items.append(Leaf(7))
        return outer

    def under_another_name(self, n):
        inner = Node(n)
        other = inner
        outer = Node(1, [inner])
        outer.items[0].n = 5
        return Node(2, [outer, other])

    def in_rounds(self, n):
        inner, outer = Node(n), Node(0)
        for k in range(3):
            outer = Node(k, [inner, outer])
            outer.items[0].n += 1
        return outer

    def given_part(self, tree):
        if isinstance(tree, Node) and tree.items:
            inner = tree.items[0]
            made = Node(0, [inner])
            made.items.append(Leaf(1))
            return made
        return Node(0)


def as_grown(self, tree):
    n = self.total(tree)
    return n, self.grown(n), self.total(self.grown(n + 1))


def as_nested(self, tree):
    return self.nested(self.total(tree))


def as_twice(self, tree):
    return self.twice(self.total(tree))


def as_read_afterwards(self, tree):
    return self.read_afterwards(self.total(tree))


def as_under_another_name(self, tree):
    return self.under_another_name(self.total(tree))


def as_in_rounds(self, tree):
    return self.in_rounds(self.total(tree))


def as_given_part(self, tree):
    made = self.given_part(tree)
    made.n = 4
    return made, self.total(tree)


TREES = [Leaf(3), Node(1, [Leaf(1), Node(0)]), Leaf(5), Node(2), Leaf(0)]


@pytest.mark.parametrize("forward", [as_grown, as_nested])
def test_names_that_nothing_reads_afterwards(forward):
    agrees(with_forward(Model(), forward), TREES)


@pytest.mark.parametrize("forward", [as_twice, as_read_afterwards, as_under_another_name, as_in_rounds, as_given_part])
def test_names_that_something_else_has(forward):
    agrees_unless_refused(with_forward(Model(), forward), TREES, "changes|seen")
