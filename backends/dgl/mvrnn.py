"""MV-RNN: a node receives its children's vectors and matrices, the left child's first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from backends.dgl.graphs import Fields, GraphProgram, full, needs, trees
from backends.pytorch.batched import Counts
from backends.pytorch.programs import left_and_right
from workloads.mvrnn.model import MVRNN, Leaf, Tree


class Program(GraphProgram[MVRNN]):
    def run(self, minibatch: Sequence[Tree], counts: Counts) -> list[Tensor]:
        model, hidden = self.model, self.model.hidden
        graph = trees(minibatch, Leaf, left_and_right, counts)

        @needs("v", "m")
        def reduce(nodes: Any) -> Fields:
            v, m = nodes.mailbox["v"].unsqueeze(3), nodes.mailbox["m"]
            modified = torch.cat((m[:, 1] @ v[:, 0], m[:, 0] @ v[:, 1]), dim=1).squeeze(2)
            return {"v": torch.tanh(model.W_v(modified)), "m": model.W_m(torch.cat((m[:, 0], m[:, 1]), dim=2))}

        count = graph.graph.num_nodes()
        leaves = {"v": model.vectors(graph.words), "m": model.matrices(graph.words).view(-1, hidden, hidden)}
        fields = {name: full(field, count) for name, field in leaves.items()}
        return list(model.classifier(graph.propagate(fields, reduce, None, counts)["v"][graph.roots]))
