"""TreeLSTM, level by level.

The leaves' gates are one product of all words with the three concatenated weights `W`; a level's gates are one product of the
sums of its children's states with the weights `U`. The forget gate of a child depends on that child alone, so it is computed
with the child's level, on neighbouring rows. The row of a node is its state beside its cell times its forget gate: one sum over
the children's rows is what both the gates and the cell of their parent need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from backends.handbatched.products import product
from backends.handbatched.setting import Setting
from backends.handbatched.trees import levels
from backends.handbatched.words import WordProducts
from backends.pytorch.batched import Counts
from backends.pytorch.programs import side_by_side
from workloads.treelstm.model import Leaf, Tree, TreeLSTM


class Program:
    def __init__(self, model: TreeLSTM, setting: Setting) -> None:
        self.hidden = model.embedding.embedding_dim
        self.device = setting.device
        weight, bias = side_by_side(model.W_i, model.W_o, model.W_u)
        self.inputs = WordProducts(setting, model.embedding.weight, weight, bias)
        self.gates = product(setting.library, torch.cat([gate.weight for gate in (model.U_i, model.U_o, model.U_u)]), bias)
        self.forget = product(setting.library, model.U_f.weight, model.U_f.bias)
        self.classifier = product(setting.library, model.classifier.weight, model.classifier.bias)
        self.has_tables = setting.tables

    def run(self, minibatch: Sequence[Tree], counts: Counts) -> list[Tensor]:
        return list(self.classifier(self.encode(minibatch, counts)))

    def encode(self, trees: Sequence[Tree], counts: Counts) -> Tensor:
        """The states of the roots: [instances, hidden]."""
        with counts.ingesting():
            forest = levels(trees, Leaf, children, self.device)
        counts.batches, counts.nodes = forest.batches, forest.nodes
        hidden = self.hidden
        leaves = self.inputs(forest.words)
        states = leaves.new_empty(forest.nodes, 2 * hidden)
        self.cells(leaves, None, states[: len(leaves)])
        for level in forest.inner:
            sums = torch.embedding_bag(states, level.children, level.starts)[0]
            self.cells(self.gates(sums[:, :hidden]), sums[:, hidden:], states[level.first : level.first + level.size])
        return states.index_select(0, forest.roots)[:, :hidden]

    def cells(self, gates: Tensor, remembered: Tensor | None, states: Tensor) -> None:
        """Computes rows of `states` from the sums of the gates i, o, u and (not for leaves) the children's forgotten cells."""
        hidden = self.hidden
        i_and_o, u = gates[:, : 2 * hidden].sigmoid_(), gates[:, 2 * hidden :].tanh_()
        i, o = i_and_o[:, :hidden], i_and_o[:, hidden:]
        c = i * u if remembered is None else torch.addcmul(remembered, i, u)
        h = torch.mul(o, torch.tanh(c), out=states[:, :hidden])
        torch.mul(self.forget(h).sigmoid_(), c, out=states[:, hidden:])


def children(tree: Any) -> list[Tree]:
    below: list[Tree] = tree.children
    return below
