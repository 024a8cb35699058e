"""Types of trees that have each other in them are asked about once: asking on inside had no end."""

# mypy: ignore-errors
from __future__ import annotations

import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward


def grown(self, xs):
    """A tree of strings and dictionaries, beside a pair of tensors."""

    def expand(depth, state):
        h = torch.tanh(state[0] + state[1])
        if depth >= len(xs):
            return "leaf", (h, state[1])
        node = {"op": "node", "args": []}
        state = (h, state[0])
        for _ in xs[depth:]:
            child, state = expand(depth + 1, state)
            node["args"].append(child)
        return node, state

    tree, state = expand(0, (torch.ones(3), torch.zeros(3)))
    return tree, state[0]


def test_as_in_python():
    agrees(with_forward(nn.Module(), grown), [[1, 2], [3]])


class Item:
    def __init__(self, state, tree):
        self.state = state
        self.tree = tree


def reduced(self, actions):
    """A stack of trees that are None, a word, or a list of a word and such trees."""
    stack = []
    for action in actions:
        if action == 0:
            stack.append(Item(torch.ones(2), None))
        elif action == 1:
            stack.append(Item(torch.zeros(2), "leaf"))
        else:
            both = [stack.pop(), stack.pop()]
            stack.append(Item(both[0].state + both[1].state, ["node"] + [item.tree for item in both]))
    return stack[-1].tree, stack[-1].state


def test_a_tree_that_each_round_puts_into_a_larger_one():
    agrees(with_forward(nn.Module(), reduced), [[1, 1, 2], [1], [0], [0, 1, 1, 2, 2]])


class Found(nn.Module):
    """An instance is a pair, as some trees of it are: a tensor and a tree of tuples of several lengths."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def found(self, tree, x):
        name, *inside = tree
        if name == "find":
            return self.linear(x) * len(inside[0])
        return sum(self.found(t, x) for t in inside)

    def forward(self, instance):
        x, tree = instance
        return self.found(tree, x)


def test_a_pair_of_a_tensor_and_a_tree_is_no_tree():
    red, square = ("find", "red"), ("find", "square")
    trees = [red, ("and", square), ("and", red, ("or", square, ("and", red, red, square)))]
    agrees(Found(), [(torch.randn(3), tree) for tree in trees])
