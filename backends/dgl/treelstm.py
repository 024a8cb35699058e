"""TreeLSTM: a node receives its children's states and cells. The gates i, o and u are one product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from backends.dgl.graphs import Fields, GraphProgram, full, needs, trees
from backends.pytorch.batched import Counts
from backends.pytorch.programs import gates_of_treelstm
from workloads.treelstm.model import Leaf, Tree, TreeLSTM


class Program(GraphProgram[TreeLSTM]):
    def __init__(self, model: TreeLSTM) -> None:
        super().__init__(model)
        self.W, self.U, self.bias = gates_of_treelstm(model)

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

    def cell(self, gates: Tensor, remembered: Tensor | None) -> Fields:
        i, o, u = gates.chunk(3, dim=1)
        c = torch.sigmoid(i) * torch.tanh(u)
        if remembered is not None:
            c = c + remembered
        return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}
