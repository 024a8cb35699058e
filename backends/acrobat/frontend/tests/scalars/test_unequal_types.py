"""Values of two of Python's types are never equal: strings and tuples in one table, strings and numbers. And tensors of the
labels of trees of tuples. Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward

ACTIONS = ["shift", ("left", "root"), ("left", "mod"), ("right", "root"), ("right", "mod")]
NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3], []]
TREES = [(1,), (2, (3,), (4, (1,), (5,))), (0, (2, (2, (3,)))), (7, (1,), (1,), (6,))]


def of_a_table(self, numbers):
    root = [i for i, action in enumerate(ACTIONS) if action == ("right", "root")]
    left = [i for i, action in enumerate(ACTIONS) if action[0] == "left"]
    return root, left, [ACTIONS.index(("left", "mod")) + n for n in numbers]


def of_run_time(self, numbers):
    texts, pairs = [str(n) for n in numbers], [(n, n) for n in numbers]
    equal = [a == b for a, b in zip(texts, pairs, strict=False)], [n != a for a, n in zip(texts, numbers, strict=False)]
    return equal, [n == [n] for n in numbers], [a in pairs for a in texts]


@pytest.mark.parametrize("forward", [of_a_table, of_run_time])
def test_values_of_other_types_differ(forward) -> None:
    agrees(with_forward(nn.Module(), forward), NUMBERS)


class Labels(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(10, 4)

    def visit(self, tree, labels):
        label, *children = tree
        for child in children:
            self.visit(child, labels)
        labels.append(label)

    def forward(self, tree):
        labels = []
        self.visit(tree, labels)
        return self.table(torch.tensor(labels))


def test_labels_of_trees_make_a_tensor() -> None:
    agrees(Labels(), TREES)
