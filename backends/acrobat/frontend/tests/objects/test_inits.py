"""Objects whose `__init__` takes `*args` and `**kwargs`, and hands them to that of a base."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

GIVEN = [[1, 2], [0], [3, 3, 1], [2, 2, 3, 2]]


class Tree:
    def __init__(self, word=None, *children, weight=1.0):
        self.word = word
        self.children = list(children)
        self.count = len(self.children)
        self.weight = weight

    def size(self):
        return 1 + sum(c.size() for c in self.children)


class Base:
    def __init__(self, a, b=2, **others):
        self.a, self.b = a, b
        self.c = others.get("c", 5)
        self.has_d = "d" in others


class Derived(Base):
    def __init__(self, *args, e=1, **kwargs):
        super().__init__(*args, **kwargs)
        self.e = e


class Parts:
    def __init__(self, *xs):
        self.xs = xs


def written_out(self, xs):
    tree = Tree(xs[0], Tree(1), Tree(2, Tree(3)))
    return tree.size(), tree.count, tree.children[1].word, tree.weight


def of_a_list(self, xs):
    tree = Tree(xs[0], *[Tree(x) for x in xs], weight=2.0)
    return tree.size(), tree.count, [c.word for c in tree.children], tree.weight


def in_a_loop(self, xs):
    tree = Tree(0)
    for x in xs:
        tree = Tree(x, tree)
    return tree.size(), tree.word, tree.count


def handed_on(self, xs):
    one, other = Derived(xs[0], c=len(xs)), Derived(xs[0], 7, e=4, d=1)
    return one.a, one.b, one.c, one.has_d, one.e, other.b, other.e, other.has_d


def kept_as_a_tuple(self, xs):
    parts, three = Parts(*(torch.ones(2) * x for x in xs)), Parts(torch.ones(2), torch.zeros(2))
    return sum(parts.xs), len(three.xs), len(parts.xs)


class Graph:
    """Functions inside of `__init__` that read, change and assign attributes, and call themselves."""

    def __init__(self, xs):
        self.marks, self.edges, self.depth, last = [], [], 0, None

        def kind(a, b):
            return "both" if self.marks[a] and self.marks[b] else "one"

        def walk(k):
            self.depth = max(self.depth, len(self.edges))
            if k > 0:
                self.edges.append((k, self.depth))
                walk(k - 1)
                walk(k - 2)

        for i, x in enumerate(xs):
            self.marks.append(x % 2 == 1)
            last = kind(i, 0)
        walk(len(xs))
        self.last, self.names = last, [kind(i, i) for i in range(len(xs))]


def functions_inside(self, xs):
    graph = Graph(xs)
    return graph.last, graph.names, graph.edges, graph.depth, graph.marks


class Late:
    """A lambda reads an attribute when it is called."""

    def __init__(self, xs):
        self.base = xs[0]
        f = lambda x: x + self.base  # noqa: E731
        self.first = f(1)
        self.base = 100
        self.second = f(1)


def test_a_lambda_does_not_see_what_an_attribute_was_before():
    def forward(self, xs):
        late = Late(xs)
        return late.first, late.second

    with pytest.raises(CompileError, match=r"the lambda sees `self.base`, which has another value by now"):
        build(with_forward(nn.Module(), forward), sample=GIVEN)


WORK = [functions_inside, written_out, of_a_list, in_a_loop, handed_on, kept_as_a_tuple]


@pytest.mark.parametrize("forward", WORK)
def test_as_in_python(forward):
    agrees(with_forward(nn.Module(), forward), GIVEN)


def test_in_generated_code(tmp_path):
    agrees_natively(with_forward(nn.Module(), of_a_list), GIVEN, "vm", tmp_path)


def test_a_list_for_parameters_with_defaults_is_refused():
    def forward(self, xs):
        return Derived(0, *xs).b

    with pytest.raises(CompileError, match=r"a list whose length is known at run time only is given with `\*`"):
        build(with_forward(nn.Module(), forward), sample=GIVEN)
