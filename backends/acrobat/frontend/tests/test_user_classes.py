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


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.step = nn.Linear(4, 4)
        self.v = nn.Parameter(torch.randn(4))

    def grow(self, h: torch.Tensor, depth: int) -> Node:
        node = Node(int(h.argmax()))
        if depth < 3:
            for _ in range(int(h.argmax()) % 3):
                h = torch.tanh(self.step(h))
                node.add(self.grow(h, depth + 1))
        return node

    def total(self, node: Optional[Node], weigh: Callable, limits: Sequence[int]) -> Iterable[int]:
        found = weigh(node.symbol)
        for child in node:
            found += self.total(child, weigh, limits)
        return min(found, max(limits))

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
}


@pytest.mark.parametrize("what", MODELS)
def test_models_as_users_write_them(tmp_path: Path, what: str) -> None:
    source = HEAD + "    def forward(self, x):" + MODELS[what]
    sample = [torch.randn(k % 3 + 1, 4, generator=torch.Generator().manual_seed(k)) for k in range(8)]
    agrees(load(tmp_path, source, f"user_classes{list(MODELS).index(what)}").Model().eval(), sample)
