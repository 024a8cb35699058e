"""Types of trees that have each other in them are asked about once: asking on inside had no end."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import with_forward


def grown(self, xs):
    """A tree of strings and dictionaries, beside a pair of tensors: what they have in common is no type of the language."""

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


def test_the_refusal_names_a_line_of_the_model():
    with pytest.raises(CompileError) as error:
        build(with_forward(nn.Module(), grown), sample=[[1, 2], [3]])
    assert all(problem.span.file == __file__ for problem in error.value.problems)
