"""DAG-RNN: a cell receives the states of its upper and its left neighbour; the products of all words are computed before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from backends.dgl.graphs import Fields, GraphProgram, grids, needs
from backends.pytorch.batched import Counts
from backends.pytorch.programs import by_grid
from workloads.dagrnn.model import DAGRNN


class Program(GraphProgram[DAGRNN]):
    def run(self, minibatch: Sequence[list[list[int]]], counts: Counts) -> list[Tensor]:
        """The scores of every grid, each of shape [rows, columns, classes]."""
        model = self.model
        graph = grids(minibatch, counts)

        @needs("h")
        def reduce(nodes: Any) -> Fields:
            return {"h": torch.tanh(nodes.data["x"] + model.W(nodes.mailbox["h"].sum(1)))}

        x = model.U(model.embedding(graph.words))
        scores = model.classifier(graph.propagate({"x": x, "h": torch.tanh(x)}, reduce, None, counts)["h"])
        counts.nodes, counts.batches = counts.nodes + len(x), counts.batches + 1
        return by_grid(scores, minibatch)
