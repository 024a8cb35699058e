"""TreeFC, level by level. A leaf needs neither work nor a copy: inner nodes are further rows of the table of the vocabulary.

The states of two children, gathered in pairs, lie side by side as the layer needs them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from backends.handbatched.products import product
from backends.handbatched.setting import Setting
from backends.handbatched.trees import levels
from backends.pytorch.batched import Counts
from backends.pytorch.programs import left_and_right
from workloads.treefc.model import Leaf, Tree, TreeFC


class Program:
    has_tables = False  # words are multiplied only as children of a node, like all states

    def __init__(self, model: TreeFC, setting: Setting) -> None:
        self.device = setting.device
        self.states = model.embedding.weight.clone()
        self.vocabulary, self.hidden = self.states.shape
        self.cell = product(setting.library, model.cell.weight, model.cell.bias)

    def run(self, minibatch: Sequence[Tree], counts: Counts) -> list[Tensor]:
        with counts.ingesting():
            forest = levels(minibatch, Leaf, left_and_right, self.device).behind(self.vocabulary)
        counts.batches, counts.nodes = len(forest.inner), forest.nodes - forest.leaves
        if self.vocabulary + counts.nodes > len(self.states):
            self.states = torch.cat((self.states[: self.vocabulary], self.states.new_empty(counts.nodes, self.hidden)))
        for level in forest.inner:
            pairs = self.states.index_select(0, level.children).view(-1, 2 * self.hidden)
            torch.tanh(self.cell(pairs), out=self.states[level.first : level.first + level.size])
        return list(self.states.index_select(0, forest.roots))
