"""TreeGRU, level by level. Update and reset gate are one product, and so are the gate and the candidate of a leaf."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from backends.handbatched.products import product
from backends.handbatched.setting import Setting
from backends.handbatched.trees import levels
from backends.handbatched.words import WordProducts
from backends.pytorch.batched import Counts
from backends.pytorch.programs import gates_of_treegru, left_and_right, side_by_side
from workloads.treegru.model import Leaf, Tree, TreeGRU


class Program:
    def __init__(self, model: TreeGRU, setting: Setting) -> None:
        self.hidden = model.embedding.embedding_dim
        self.device = setting.device
        self.inputs = WordProducts(setting, model.embedding.weight, *side_by_side(model.W_z, model.W_h))
        self.gates = product(setting.library, *gates_of_treegru(model), "sigmoid")
        self.candidate = product(setting.library, model.U_h.weight, model.W_h.bias, "tanh")
        self.classifier = product(setting.library, model.classifier.weight, model.classifier.bias)
        self.has_tables = setting.tables

    def run(self, minibatch: Sequence[Tree], counts: Counts) -> list[Tensor]:
        with counts.ingesting():
            forest = levels(minibatch, Leaf, left_and_right, self.device)
        counts.batches, counts.nodes = forest.batches, forest.nodes
        hidden = self.hidden
        leaves = self.inputs(forest.words)
        states = leaves.new_empty(forest.nodes, hidden)
        torch.mul(1 - leaves[:, :hidden].sigmoid_(), leaves[:, hidden:].tanh_(), out=states[: forest.leaves])
        for level in forest.inner:
            sums = torch.embedding_bag(states, level.children, level.starts)[0]
            gates = self.gates(sums)
            candidates = self.candidate(gates[:, hidden:] * sums)
            torch.lerp(candidates, sums, gates[:, :hidden], out=states[level.first : level.first + level.size])
        return list(self.classifier(states.index_select(0, forest.roots)))
