"""Loops that are compiled on trial, to see whether they have to be unrolled: no problem that the trial meets is lost."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward


class Node:
    def __init__(self, p):
        self.p = p
        self.visits = 0
        self.children = {}


def visit(root):
    node = root
    node.visits += 1


def grow(root):
    node = root
    for i in range(node.p):
        node.children[i] = Node(node.p - 1)


def visits_in_rounds(self, n: int):
    root = Node(n)
    for _ in range(3):
        visit(root)
    return root.visits, torch.ones(2)


def grows_in_rounds(self, n: int):
    root = Node(n)
    for _ in range(3):
        grow(root)
    return len(root.children), torch.ones(2)


@pytest.mark.parametrize("forward", [visits_in_rounds, grows_in_rounds])
def test_changes_under_another_name_are_seen_in_a_function_that_a_trial_has_compiled(forward) -> None:
    """The change had been lost: the trial had dropped the problem, and kept the function."""
    agrees(with_forward(nn.Module(), forward), [1, 2, 3])
