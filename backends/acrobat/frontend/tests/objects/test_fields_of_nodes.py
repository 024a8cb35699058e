"""Nodes whose fields are kept in a dictionary by name: nodes, words, and lists of these."""

# mypy: ignore-errors
from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

NUMBERS = [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3]]


@dataclass
class Node:
    name: str
    fields: dict = field(default_factory=dict)

    def __str__(self):
        shown = []
        for name, value in self.fields.items():
            if isinstance(value, list):
                value = "[" + ",".join(str(x) for x in value) + "]"
            shown.append(f"{name}={value}")
        return f"{self.name}({','.join(shown)})"


class Builder(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def make(self, n):
        if n % 3 == 0:
            return f"word{n}"
        node = Node(f"node{n}")
        node.fields["one"] = self.make(n - 1)
        if n > 3:
            node.fields["optional"] = self.make(n // 2)
        if n % 2:
            node.fields["many"] = [self.make(k) for k in range(min(n, 2))]
        return node


def texts(self, numbers):
    return [str(self.make(n)) for n in numbers], self.weight


def test_as_eager() -> None:
    agrees(with_forward(Builder(), texts), NUMBERS)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Builder(), texts), NUMBERS, codegen, tmp_path)
