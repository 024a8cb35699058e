"""TreeGRU: a node receives its children's states. Update and reset gate are one product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from backends.dgl.graphs import Fields, GraphProgram, full, needs, trees
from backends.pytorch.batched import Counts
from backends.pytorch.programs import gates_of_treegru, left_and_right
from workloads.treegru.model import Leaf, Tree, TreeGRU


class Program(GraphProgram[TreeGRU]):
    def __init__(self, model: TreeGRU) -> None:
        super().__init__(model)
        self.gates = gates_of_treegru(model)

    def run(self, minibatch: Sequence[Tree], counts: Counts) -> list[Tensor]:
        model = self.model
        graph = trees(minibatch, Leaf, left_and_right, counts)

        @needs("h")
        def reduce(nodes: Any) -> Fields:
            h_sum = nodes.mailbox["h"].sum(1)
            z, r = torch.sigmoid(linear(h_sum, *self.gates)).chunk(2, dim=1)
            candidate = torch.tanh(model.U_h(r * h_sum) + model.W_h.bias)
            return {"h": z * h_sum + (1 - z) * candidate}

        h = full(model.leaf(model.embedding(graph.words)), graph.graph.num_nodes())
        return list(model.classifier(graph.propagate({"h": h}, reduce, None, counts)["h"][graph.roots]))
