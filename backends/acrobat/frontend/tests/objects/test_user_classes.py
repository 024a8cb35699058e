"""Classes and functions as users write them: annotations that name ordinary classes, `__iter__`, masks that functions read."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from backends.acrobat.frontend.tests.test_own_model import load
from backends.acrobat.tests.zoo.check import agrees

HEAD = """
from typing import Callable, Iterable, List, Optional, Sequence

import torch
import torch.nn as nn
import torch.nn.functional as F


class Node:
    def __init__(self, symbol: int):
        self.symbol = symbol
        self.children: List["Node"] = []

    def add(self, child: "Node") -> None:
        self.children.append(child)

    def size(self) -> int:
        return 1 + sum(child.size() for child in self.children)

    def __iter__(self):
        return iter(self.children)


class Pile(nn.Module):
    def __init__(self):
        super().__init__()
        self.reset()

    def reset(self):
        self.values = []
        self.strengths = []

    def forward(self, value, strength):
        self.values.append(value)
        self.strengths.append(strength)
        read = torch.zeros(4)
        for value, strength in zip(self.values[::-1], self.strengths[::-1]):
            read = read + value * strength
        return read


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.pile = Pile()
        self.step = nn.Linear(4, 4)
        self.v = nn.Parameter(torch.randn(4))

    def grow(self, h: torch.Tensor, depth: int) -> Node:
        node = Node(int(h.argmax()))
        if depth < 3:
            for _ in range(int(h.argmax()) % 3):
                h = torch.tanh(self.step(h))
                child = self.grow(h, depth + 1)
                node.add(child)
        return node

    def total(self, node: Optional[Node], weigh: Callable, limits: Sequence[int]) -> Iterable[int]:
        found = weigh(node.symbol)
        for child in node:
            found += self.total(child, weigh, limits)
        return min(found, max(limits))

    def halting(self, x):
        left, rounds = 1.0, 0
        while rounds < 2:
            left = left - torch.sigmoid(x @ self.v)
            rounds += 1
        return rounds, left

    def score(self, x, mask=None):
        s = x @ self.v
        return s if mask is None else s.masked_fill(mask, float("-inf"))

"""

MODELS = {
    "annotations that name ordinary classes": """
        node = self.grow(x[0], 0)
        return node.size(), self.total(node, lambda s: s + 1, [50, 40])
""",
    "a mask that another function reads between two changes": """
        visited = torch.zeros(x.size(0), dtype=torch.bool)
        total = 0.0
        for _ in range(x.size(0)):
            p = F.log_softmax(self.score(x, visited), dim=0)
            best = p.argmax().item()
            total = total + p[best]
            visited[best] = True
        return total
""",
    "lists of a submodule that a loop fills with what the submodule gives": """
        self.pile.reset()
        read = torch.zeros(4)
        for row in x:
            read = self.pile(self.step(read + row), torch.sigmoid(row @ self.v))
        return read
""",
    "a number that becomes a tensor, and is added to": """
        cost = 0
        for row in x:
            rounds, left = self.halting(row)
            cost += rounds + left
        return cost
""",
    "tensors like a parameter": """
        weight = next(self.parameters())
        counts = [p.numel() for name, p in self.named_parameters()]
        return weight.new_zeros(2), x.new_tensor([1, len(x)]), weight.new_full((2,), 3.5), sum(counts)
""",
}


@pytest.mark.parametrize("what", MODELS)
def test_models_as_users_write_them(tmp_path: Path, what: str) -> None:
    source = HEAD + "    def forward(self, x):" + MODELS[what]
    sample = [torch.randn(k % 3 + 1, 4, generator=torch.Generator().manual_seed(k)) for k in range(8)]
    agrees(load(tmp_path, source, f"user_classes{list(MODELS).index(what)}").Model().eval(), sample)
