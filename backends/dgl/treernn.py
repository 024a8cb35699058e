"""TreeRNN: a node receives its children's states; the products of all words are computed before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from backends.dgl.graphs import Fields, GraphProgram, full, needs, trees
from backends.pytorch.batched import Counts
from backends.pytorch.programs import left_and_right
from workloads.treernn.model import Leaf, Tree, TreeRNN


class Program(GraphProgram[TreeRNN]):
    def run(self, minibatch: Sequence[Tree], counts: Counts) -> list[Tensor]:
        model = self.model
        graph = trees(minibatch, Leaf, left_and_right, counts, heads=True)

        @needs("h")
        def reduce(nodes: Any) -> Fields:
            return {"h": torch.tanh(nodes.data["x"] + model.U(nodes.mailbox["h"].sum(1)))}

        x = model.W(model.embedding(graph.words))
        fields = {"x": x, "h": full(torch.tanh(x[: graph.leaves]), len(x))}
        return list(model.classifier(graph.propagate(fields, reduce, None, counts)["h"][graph.roots]))
