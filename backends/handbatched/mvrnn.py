"""MV-RNN, level by level. A leaf needs neither work nor a copy: inner nodes are further rows of the tables of the vocabulary.

Matrices are kept transposed. Then the children's matrices, gathered in pairs, lie below one another as one product with `W_m`
needs them, and the product of a matrix with a vector becomes a row times a matrix, which takes a third of the time.
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
from workloads.mvrnn.model import MVRNN, Leaf, Tree


class Program:
    has_tables = False  # words are not multiplied with weights

    def __init__(self, model: MVRNN, setting: Setting) -> None:
        self.hidden = hidden = model.hidden
        self.device = setting.device
        self.vocabulary = len(model.vectors.weight)
        self.vectors = model.vectors.weight.clone()
        self.matrices = model.matrices.weight.view(-1, hidden, hidden).transpose(1, 2).contiguous()
        self.vector = product(setting.library, model.W_v.weight, model.W_v.bias)
        self.matrix, self.matrix_bias = model.W_m.weight, model.W_m.bias[:, None]
        self.packed = product(setting.library, model.W_m.weight, model.W_m.bias) if setting.library == "onednn" else None
        self.classifier = product(setting.library, model.classifier.weight, model.classifier.bias)

    def run(self, minibatch: Sequence[Tree], counts: Counts) -> list[Tensor]:
        with counts.ingesting():
            forest = levels(minibatch, Leaf, left_and_right, self.device).behind(self.vocabulary)
        counts.batches, counts.nodes = len(forest.inner), forest.nodes - forest.leaves
        self.make_room(self.vocabulary + counts.nodes)
        for level in forest.inner:
            self.compose(level.children, slice(level.first, level.first + level.size))
        return list(self.classifier(self.vectors.index_select(0, forest.roots)))

    def make_room(self, rows: int) -> None:
        """Makes the tables long enough for `rows` rows, the vocabulary first. They grow once, for the largest mini-batch."""
        if rows > len(self.vectors):
            inner_nodes = rows - self.vocabulary
            self.vectors = torch.cat((self.vectors[: self.vocabulary], self.vectors.new_empty(inner_nodes, self.hidden)))
            matrices = self.matrices.new_empty(rows, self.hidden, self.hidden)
            matrices[: self.vocabulary] = self.matrices[: self.vocabulary]
            self.matrices = matrices

    def compose(self, pair: Tensor, rows: slice) -> None:
        """Computes the nodes of a level into `rows`. Their children are the rows `pair`, left and right in turn."""
        hidden = self.hidden
        vectors = self.vectors.index_select(0, pair).view(-1, 2, 1, hidden)
        matrices = self.matrices.index_select(0, pair).view(-1, 2, hidden, hidden)
        modified = torch.cat((torch.bmm(vectors[:, 0], matrices[:, 1]), torch.bmm(vectors[:, 1], matrices[:, 0])), dim=2)
        torch.tanh(self.vector(modified.squeeze(1)), out=self.vectors[rows])
        below = matrices.view(-1, 2 * hidden, hidden)
        if self.packed is None:
            torch.bmm(self.matrix.expand(len(below), -1, -1), below, out=self.matrices[rows])
            self.matrices[rows].add_(self.matrix_bias)
        else:
            products = self.packed(below.transpose(1, 2).reshape(-1, 2 * hidden))
            self.matrices[rows] = products.view(-1, hidden, hidden).transpose(1, 2)
