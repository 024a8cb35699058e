"""Doubly recurrent network (Alvarez-Melis and Jaakkola 2017): grows a tree from its root downwards.

A node's state combines the states of two RNNs: the ancestral one runs from parent to child, the fraternal one from each sibling
to the next. Two decisions depend on it: whether the node has children, and whether it has a further sibling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from workloads.decisions import decide, split


@dataclass(frozen=True, slots=True)
class Sample:
    x: Annotated[Tensor, "hidden"]
    h: Annotated[Tensor, "hidden"]
    key: int


@dataclass(frozen=True, slots=True)
class Node:
    """A node whose children have not been computed; `parent` says whether it will have any."""

    x: Tensor
    h: Tensor
    parent: bool
    key: int


@dataclass(frozen=True, slots=True)
class Rose:
    x: Tensor
    h: Tensor
    children: list[Rose]


class DRNN(nn.Module):
    """`forward(sample)` gives the tree, at most `limit` + 1 levels below the root and `limit` + 1 children to a node."""

    def __init__(self, hidden: int, limit: int, real: bool) -> None:
        super().__init__()
        self.hidden = hidden
        self.limit = limit
        self.real = real
        self.ancestral = nn.Linear(2 * hidden, hidden)
        self.fraternal = nn.Linear(2 * hidden, hidden)
        self.join = nn.Linear(2 * hidden, hidden, bias=False)
        self.topology = nn.Linear(hidden, 2, bias=False)
        self.output = nn.Linear(hidden, hidden, bias=False)
        self.if_parent = nn.Parameter(torch.empty(hidden))
        self.if_sibling = nn.Parameter(torch.empty(hidden))

    def forward(self, sample: Sample) -> Rose:
        return self.grow(sample.x, sample.h, 0, sample.key)

    def grow(self, x: Tensor, h: Tensor, depth: int, key: int) -> Rose:
        return Rose(x, h, [self.subtree(node, depth + 1) for node in self.siblings(x, h, depth, key)])

    def subtree(self, node: Node, depth: int) -> Rose:
        if node.parent:
            return self.grow(node.x, node.h, depth, split(node.key, 2))
        return Rose(node.x, node.h, [])

    def siblings(self, x_parent: Tensor, h_parent: Tensor, depth: int, key: int) -> list[Node]:
        nodes = []
        x = x_parent
        h_fraternal = h_parent
        for i in range(self.limit + 1):
            x, h, h_fraternal, p_parent, p_sibling = self.cell(x_parent, h_parent, x, h_fraternal)
            node_key = split(key, i)
            parent = decide(p_parent, 0, self.limit - depth, split(node_key, 0), self.real) > 0
            nodes.append(Node(x, h, parent, node_key))
            if decide(p_sibling, 0, self.limit - i, split(node_key, 1), self.real) == 0:
                break
        return nodes

    def cell(
        self, x_parent: Tensor, h_parent: Tensor, x_sibling: Tensor, h_sibling: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        h = torch.sigmoid(self.ancestral(torch.cat((x_parent, h_parent))))
        h_fraternal = torch.sigmoid(self.fraternal(torch.cat((x_sibling, h_sibling))))
        joint = torch.tanh(self.join(torch.cat((h, h_fraternal))))
        p_parent, p_sibling = torch.sigmoid(self.topology(joint)).chunk(2, dim=-1)
        x = torch.softmax(self.output(joint) + p_parent * self.if_parent + p_sibling * self.if_sibling, dim=-1)
        return x, h, h_fraternal, p_parent, p_sibling
