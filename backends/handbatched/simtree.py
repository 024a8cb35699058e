"""SimTree: both trees of all pairs are one mini-batch of the TreeLSTM, and all pairs of roots are compared at once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from backends.handbatched import treelstm
from backends.handbatched.products import product
from backends.handbatched.setting import Setting
from backends.pytorch.batched import Counts
from workloads.simtree.model import Pair, SimTree


class Program:
    def __init__(self, model: SimTree, setting: Setting) -> None:
        self.trees = treelstm.Program(model, setting)
        self.products = product(setting.library, model.product.weight, model.distance.bias)
        self.distances = product(setting.library, model.distance.weight)
        self.has_tables = self.trees.has_tables

    def run(self, minibatch: Sequence[Pair], counts: Counts) -> list[Tensor]:
        trees = [pair.left for pair in minibatch] + [pair.right for pair in minibatch]
        left, right = self.trees.encode(trees, counts).chunk(2)
        h = (self.products(left * right) + self.distances((left - right).abs_())).sigmoid_()
        return list(torch.softmax(self.trees.classifier(h), dim=1))
