"""TreeLSTM, level by level.

The leaves' gates i and o are one product of all words with both weights `W`, the gate u is another; a level's gates are two
such products of the sums of its children's states with the weights `U`. So each product has one activation, which oneDNN
applies before it stores the results. The forget gate of a child depends on that child alone, so it is computed with the
child's level, on neighbouring rows. The row of a node is its state beside its cell times its forget gate: one sum over the
children's rows is what both the gates and the cell of their parent need.
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
        library, words = setting.library, model.embedding.weight
        weight, bias = side_by_side(model.W_i, model.W_o)
        self.i_and_o_of_words = WordProducts(setting, words, weight, bias, "sigmoid")
        self.u_of_words = WordProducts(setting, words, model.W_u.weight, model.W_u.bias, "tanh")
        self.i_and_o = product(library, torch.cat((model.U_i.weight, model.U_o.weight)), bias, "sigmoid")
        self.u = product(library, model.U_u.weight, model.W_u.bias, "tanh")
        self.forget = product(library, model.U_f.weight, model.U_f.bias, "sigmoid")
        self.classifier = product(library, model.classifier.weight, model.classifier.bias)
        self.has_tables = setting.tables

    def run(self, minibatch: Sequence[Tree], counts: Counts) -> list[Tensor]:
        return list(self.classifier(self.encode(minibatch, counts)))

    def encode(self, trees: Sequence[Tree], counts: Counts) -> Tensor:
        """The states of the roots: [instances, hidden]."""
        with counts.ingesting():
            forest = levels(trees, Leaf, children, self.device)
        counts.batches, counts.nodes = forest.batches, forest.nodes
        hidden = self.hidden
        u = self.u_of_words(forest.words)
        states = u.new_empty(forest.nodes, 2 * hidden)
        self.cells(self.i_and_o_of_words(forest.words), u, None, states[: forest.leaves])
        for level in forest.inner:
            sums = torch.embedding_bag(states, level.children, level.starts)[0]
            h, forgotten = sums[:, :hidden], sums[:, hidden:]
            self.cells(self.i_and_o(h), self.u(h), forgotten, states[level.first : level.first + level.size])
        return states.index_select(0, forest.roots)[:, :hidden]

    def cells(self, i_and_o: Tensor, u: Tensor, remembered: Tensor | None, states: Tensor) -> None:
        """Computes rows of `states` from the gates and (not for leaves) the sums of the children's cells times their forget
        gates."""
        hidden = self.hidden
        i, o = i_and_o[:, :hidden], i_and_o[:, hidden:]
        c = i * u if remembered is None else torch.addcmul(remembered, i, u)
        h = torch.mul(o, torch.tanh(c), out=states[:, :hidden])
        torch.mul(self.forget(h), c, out=states[:, hidden:])


def children(tree: Any) -> list[Tree]:
    below: list[Tree] = tree.children
    return below
