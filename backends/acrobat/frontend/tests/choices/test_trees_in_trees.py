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
