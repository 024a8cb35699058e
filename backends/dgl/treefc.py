"""TreeFC: a node receives its children's states, the left child's first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from backends.dgl.graphs import Fields, GraphProgram, full, needs, trees
from backends.pytorch.batched import Counts
from backends.pytorch.programs import left_and_right
from workloads.treefc.model import Leaf, Tree, TreeFC


class Program(GraphProgram[TreeFC]):
    def run(self, minibatch: Sequence[Tree], counts: Counts) -> list[Tensor]:
        model = self.model
        graph = trees(minibatch, Leaf, left_and_right, counts)

        @needs("h")
        def reduce(nodes: Any) -> Fields:
            return {"h": torch.tanh(model.cell(nodes.mailbox["h"].flatten(1)))}

        h = full(model.embedding(graph.words), graph.graph.num_nodes())
        return list(graph.propagate({"h": h}, reduce, None, counts)["h"][graph.roots])
