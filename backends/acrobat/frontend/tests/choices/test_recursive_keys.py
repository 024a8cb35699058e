"""Recursions whose results are parts of keys and texts that they make, without a case of their own that ends them."""

# mypy: ignore-errors
from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward


@dataclass
class Node:
    label: int
    children: list = field(default_factory=list)


TREES = [
    Node(1, [Node(2), Node(3, [Node(4)])]),
    Node(5),
    Node(2, [Node(1, [Node(3), Node(2)]), Node(7), Node(1, [Node(2), Node(3)])]),
]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.words = nn.Linear(4, 4), nn.Embedding(9, 4)


def numbers_of_shapes(self, tree):
    table = {}

    def number(node):
        shape = (node.label, tuple(number(c) for c in node.children))
        if shape not in table:
            table[shape] = len(table)
        return table[shape]

    return number(tree), len(table)


def numbers_in_any_order(self, tree):
    table = {}

    def number(node):
        shape = (node.label, *sorted(number(c) for c in node.children))
        return table.setdefault(shape, len(table))

    return number(tree), len(table)


def remembered_by_text(self, tree):
    memo = {}

    def text(node):
        return f"{node.label}({','.join(map(text, node.children))})"

    def state(node):
        key = text(node)
        if key in memo:
            return memo[key]
        h = self.words.weight[node.label]
        for c in node.children:
            h = h + state(c)
        memo[key] = torch.tanh(self.layer(h))
        return memo[key]

    return state(tree), len(memo)


def sorted_texts(self, tree):
    groups = {}

    def text(node):
        whole = f"({node.label}{''.join(sorted(text(c) for c in node.children))})"
        groups.setdefault(whole, []).append(node.label)
        return whole

    return text(tree), [len(x) for x in groups.values()]


@pytest.mark.parametrize("forward", [numbers_of_shapes, numbers_in_any_order, remembered_by_text, sorted_texts])
def test_as_in_python(forward):
    agrees(with_forward(Model(), forward), TREES)


def chosen_ranges(self, tree):
    found = []
    for n in range(tree.label):
        some = range(1, 4) if n % 2 else range(3)
        more = range(2)
        if n == 1:
            more = range(1, 3)
        found.extend(some)
        found.append(len(more))
    return found, [i + 1 for i in (range(2) if tree.children else range(5))]


def test_ranges_of_which_one_is_chosen():
    agrees(with_forward(Model(), chosen_ranges), TREES)


class Beam:
    def __init__(self):
        self.chosen, self.scores = [], torch.zeros(4)

    def advance(self, scores):
        scores[0] = -1e9
        scores[:2] -= 1
        self.scores = self.scores + scores
        self.chosen.append(scores.argmax().item())
        return len(self.chosen) < 3


def changed_by_the_call(self, tree):
    beam = Beam()
    while beam.advance(torch.log(self.layer(self.words.weight[tree.label]).softmax(-1) + len(beam.chosen))):
        pass
    return beam.chosen, beam.scores


def test_new_tensors_that_a_call_changes():
    agrees(with_forward(Model(), changed_by_the_call), TREES)
