"""TreeRNN, level by level. The products of all nodes' words are computed first and become the states in place."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from backends.handbatched.products import accumulation, product
from backends.handbatched.setting import Setting
from backends.handbatched.trees import levels
from backends.handbatched.words import WordProducts
from backends.pytorch.batched import Counts
from backends.pytorch.programs import left_and_right
from workloads.treernn.model import Leaf, Tree, TreeRNN


class Program:
    def __init__(self, model: TreeRNN, setting: Setting) -> None:
        self.device = setting.device
        self.inputs = WordProducts(setting, model.embedding.weight, model.W.weight, model.W.bias)
        self.add_share_of = accumulation(setting.library, model.U.weight)
        self.classifier = product(setting.library, model.classifier.weight, model.classifier.bias)
        self.has_tables = setting.tables

    def run(self, minibatch: Sequence[Tree], counts: Counts) -> list[Tensor]:
        with counts.ingesting():
            forest = levels(minibatch, Leaf, left_and_right, self.device, heads=True)
        counts.batches, counts.nodes = forest.batches, forest.nodes
        states = self.inputs(forest.words)
        states[: forest.leaves].tanh_()
        for level in forest.inner:
            rows = states[level.first : level.first + level.size]
            self.add_share_of(rows, torch.embedding_bag(states, level.children, level.starts)[0])
            rows.tanh_()
        return list(self.classifier(states.index_select(0, forest.roots)))
