"""TreeLSTM: a node receives its children's states and cells. The gates i, o and u are one product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from backends.dgl.graphs import Fields, full, needs, trees
from backends.pytorch.batched import Counts
from workloads.treelstm.model import Leaf, Tree, TreeLSTM


class Program:
    has_tables = False

    def __init__(self, model: TreeLSTM) -> None:
        self.model = model
        self.W = torch.cat((model.W_i.weight, model.W_o.weight, model.W_u.weight))
        self.U = torch.cat((model.U_i.weight, model.U_o.weight, model.U_u.weight))
        self.bias = torch.cat((model.W_i.bias, model.W_o.bias, model.W_u.bias))

    def run(self, minibatch: Sequence[Tree], counts: Counts) -> list[Tensor]:
        return list(self.model.classifier(self.encode(minibatch, counts)))

    def encode(self, instances: Sequence[Tree], counts: Counts) -> Tensor:
        """The states of the roots: [instances, hidden]."""
        model = self.model
        graph = trees(instances, Leaf, lambda node: node.children, counts)
        leaves = self.cell(linear(model.embedding(graph.words), self.W, self.bias), None)

        @needs("h", "c")
        def reduce(nodes: Any) -> Fields:
            h, c = nodes.mailbox["h"], nodes.mailbox["c"]
            return {"gates": linear(h.sum(1), self.U, self.bias), "kept": (torch.sigmoid(model.U_f(h)) * c).sum(1)}

        def apply(nodes: Any) -> Fields:
            return self.cell(nodes.data["gates"], nodes.data["kept"])

        count = graph.graph.num_nodes()
        fields = {name: full(field, count) for name, field in leaves.items()}
        states: Tensor = graph.propagate(fields, reduce, apply, counts)["h"]
        return states[graph.roots]

    def cell(self, gates: Tensor, kept: Tensor | None) -> Fields:
        i, o, u = gates.chunk(3, dim=1)
        c = torch.sigmoid(i) * torch.tanh(u)
        if kept is not None:
            c = c + kept
        return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}
