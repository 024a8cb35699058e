"""SimTree: both trees of all pairs are in one graph, and all pairs of roots are compared at once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from backends.dgl import treelstm
from backends.dgl.graphs import GraphProgram
from backends.pytorch.batched import Counts
from workloads.simtree.model import Pair, SimTree


class Program(GraphProgram[SimTree]):
    def __init__(self, model: SimTree) -> None:
        super().__init__(model)
        self.trees = treelstm.Program(model)

    def run(self, minibatch: Sequence[Pair], counts: Counts) -> list[Tensor]:
        model = self.model
        trees = [pair.left for pair in minibatch] + [pair.right for pair in minibatch]
        left, right = self.trees.encode(trees, counts).chunk(2)
        h = torch.sigmoid(model.product(left * right) + model.distance((left - right).abs()))
        return list(torch.softmax(model.classifier(h), dim=1))
