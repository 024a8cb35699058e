"""Trees of tuples or lists of the instance are compared on all levels."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

TREES = ["x", ("f", "x", "x"), ("f", ("g", "x", "y"), ("g", "x", "y")), ("g", ("f", "y", ("g", "x", "y")), ("g", "x", "y"))]
LISTS = [[1, [2, 3]], [1, 2], [[1, 2], [1, 2]], [[1, [2]], [1, [2]], [1, [3]]]]


def parts_of_one(self, tree):
    if isinstance(tree, str):
        return 0
    return 1 if tree[1] == tree[2] else 2


def with_constants(self, tree):
    return tree != "x", tree == ("f", "x", "x"), tree == ("f", ("g", "x", "y"), ("g", "x", "y"))


def keys(self, tree):
    """Subtrees that were met before are looked up."""
    found, hits = {}, 0

    def depth(tree):
        nonlocal hits
        if tree in found:
            hits += 1
            return found[tree]
        found[tree] = 0 if isinstance(tree, str) else 1 + max(depth(t) for t in tree[1:])
        return found[tree]

    return depth(tree), hits, len(found), len({tree, tree})


def lists(self, xs):
    rest = [xs, xs]
    rest.remove(xs)
    return [i for i in range(1, len(xs)) if xs[i] == xs[i - 1]], xs.index(xs[-1]), rest.count(xs)


CASES = [(parts_of_one, TREES), (with_constants, TREES), (keys, TREES), (lists, LISTS)]


@pytest.mark.parametrize(("forward", "sample"), CASES)
def test_as_in_python(forward, sample):
    agrees(with_forward(nn.Module(), forward), sample)


def test_in_generated_code(tmp_path):
    agrees_natively(with_forward(nn.Module(), keys), TREES, "vm", tmp_path)
