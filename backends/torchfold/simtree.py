"""SimTree: the operations of the TreeLSTM, and one more, which compares two roots."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from backends.torchfold import treelstm
from backends.torchfold.folding import Node
from workloads.simtree.model import Pair, SimTree


class Operations(treelstm.Operations):
    def __init__(self, model: SimTree) -> None:
        super().__init__(model)
        self.product, self.distance, self.classifier = model.product, model.distance, model.classifier

    def add(self, fold: Any, pair: Pair) -> list[Node]:  # type: ignore[override]  # two trees where a TreeLSTM takes one
        return [fold.add("compare", self.encode(fold, pair.left)[0], self.encode(fold, pair.right)[0])]

    def compare(self, left: Tensor, right: Tensor) -> Tensor:
        h = torch.sigmoid(self.product(left * right) + self.distance((left - right).abs()))
        return torch.softmax(self.classifier(h), dim=1)
