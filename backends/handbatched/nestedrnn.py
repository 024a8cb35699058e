"""NestedRNN: all samples emit their next node together; then their edges' RNNs run together, those with most edges longest.

The numbers of nodes are read at once, and so are the numbers of edges of all nodes that were emitted together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from backends.handbatched.products import Product, accumulation, product
from backends.handbatched.setting import Setting
from backends.pytorch.batched import Counts
from backends.pytorch.programs import side_by_side
from workloads.decisions import decide, split
from workloads.nestedrnn.model import NestedRNN, Sample


class Program:
    has_tables = False  # this model has no words

    def __init__(self, model: NestedRNN, setting: Setting) -> None:
        self.model = model
        library = setting.library
        gates, bias = side_by_side(model.update, model.reset)
        self.gates = product(library, gates, bias, "sigmoid")
        of_input, of_state = model.candidate.weight.chunk(2, dim=1)
        self.candidate, self.add_candidate = product(library, of_input, model.candidate.bias), accumulation(library, of_state)
        of_node, of_edges = model.edge.weight.chunk(2, dim=1)
        self.edge, self.add_edge = product(library, of_node, model.edge.bias), accumulation(library, of_edges)
        self.node = product(library, model.node.weight, model.node.bias, "tanh")
        self.node_count, self.edge_count = (
            product(library, layer.weight, layer.bias, "sigmoid") for layer in (model.node_count, model.edge_count)
        )

    def run(self, minibatch: Sequence[Sample], counts: Counts) -> list[list[Tensor]]:
        outputs: list[list[Tensor]] = [[] for _ in minibatch]
        h = torch.stack([sample.x for sample in minibatch])
        wanted = self.numbers(self.node_count, h, [split(sample.key, 0) for sample in minibatch], counts)
        state = torch.zeros_like(h)
        going = list(range(len(minibatch)))
        made = 0
        while True:
            stay = [row for row, i in enumerate(going) if wanted[i] > made]
            if not stay:
                return outputs
            if len(stay) < len(going):
                h, state, going = h[stay], state[stay], [going[row] for row in stay]
            h = self.gru(h, state)
            node = self.node(h)
            made += 1
            edges = self.numbers(self.edge_count, node, [split(minibatch[i].key, made) for i in going], counts)
            state = self.edges(node, edges, counts)
            counts.nodes, counts.batches = counts.nodes + len(going), counts.batches + 1
            for i, row in zip(going, node.unbind(0), strict=True):
                outputs[i].append(row)

    def numbers(self, head: Product, states: Tensor, keys: Sequence[int], counts: Counts) -> list[int]:
        """A number between the model's bounds for each state; waits for them."""
        with counts.fetching():
            scores = head(states).flatten().tolist()
        low, high, real = self.model.low, self.model.high, self.model.real
        return [decide(cast(Any, np.float64(p)), low, high, key, real) for p, key in zip(scores, keys, strict=True)]

    def gru(self, x: Tensor, state: Tensor) -> Tensor:
        z, r = self.gates(torch.cat((x, state), dim=1)).chunk(2, dim=1)
        candidate = self.candidate(x)
        self.add_candidate(candidate, r * state)
        return torch.lerp(state, candidate.tanh_(), z)

    def edges(self, node: Tensor, numbers: Sequence[int], counts: Counts) -> Tensor:
        """The last states of the RNNs over the edges of each node."""
        order = sorted(range(len(numbers)), key=lambda row: -numbers[row])
        share = self.edge(node[order])
        state = node[order]
        going = len(order)
        for step in range(numbers[order[0]]):
            while numbers[order[going - 1]] <= step:
                going -= 1
            sums = share[:going].clone()
            self.add_edge(sums, state[:going])
            torch.sigmoid(sums, out=state[:going])
            counts.nodes, counts.batches = counts.nodes + going, counts.batches + 1
        back = torch.empty_like(state)
        back[order] = state
        return back
