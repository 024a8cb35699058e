"""NestedRNN: an RNN loop inside a GRU loop, after GraphRNN (You et al. 2018): the GRU emits a node, the RNN runs over the
node's edges, and its last state is the GRU's next state.

Both trip counts are decided at run time: that of the GRU once, on the input, and that of the RNN anew on each node.
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
    key: int


class NestedRNN(nn.Module):
    """`forward(sample)` gives the nodes, between `low` and `high` of them, each of shape [hidden]."""

    def __init__(self, hidden: int, low: int, high: int, real: bool) -> None:
        super().__init__()
        self.hidden = hidden
        self.low = low
        self.high = high
        self.real = real
        self.update = nn.Linear(2 * hidden, hidden)
        self.reset = nn.Linear(2 * hidden, hidden)
        self.candidate = nn.Linear(2 * hidden, hidden)
        self.node = nn.Linear(hidden, hidden)
        self.edge = nn.Linear(2 * hidden, hidden)
        self.node_count = nn.Linear(hidden, 1)
        self.edge_count = nn.Linear(hidden, 1)

    def forward(self, sample: Sample) -> list[Tensor]:
        h = sample.x
        state = torch.zeros_like(h)
        nodes = []
        for i in range(self.count(self.node_count, h, split(sample.key, 0))):
            h = self.gru(h, state)
            node = self.emit(h)
            state = self.edges(node, self.count(self.edge_count, node, split(sample.key, i + 1)))
            nodes.append(node)
        return nodes

    def count(self, head: nn.Linear, state: Tensor, key: int) -> int:
        return decide(torch.sigmoid(head(state)), self.low, self.high, key, self.real)

    def edges(self, node: Tensor, count: int) -> Tensor:
        state = node
        for _ in range(count):
            state = self.step(node, state)
        return state

    def gru(self, x: Tensor, state: Tensor) -> Tensor:
        both = torch.cat((x, state))
        z = torch.sigmoid(self.update(both))
        r = torch.sigmoid(self.reset(both))
        candidate = torch.tanh(self.candidate(torch.cat((x, r * state))))
        return state + z * (candidate - state)

    def emit(self, h: Tensor) -> Tensor:
        return torch.tanh(self.node(h))

    def step(self, x: Tensor, state: Tensor) -> Tensor:
        return torch.sigmoid(self.edge(torch.cat((x, state))))
