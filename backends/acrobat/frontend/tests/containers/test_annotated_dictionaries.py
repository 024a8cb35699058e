"""Dictionaries of the instance that have the same keys always, where an annotation says that the keys are those of run time.
Against eager PyTorch."""

# mypy: ignore-errors

from __future__ import annotations

import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees

Graph = dict[str, object]


class Messages(nn.Module):
    def __init__(self, kinds):
        super().__init__()
        self.sent = nn.ModuleDict({d + k: nn.Linear(4, 4) for k in kinds for d in ("to", "from")})

    def forward(self, h: torch.Tensor, edges: dict[str, list[tuple[int, int]]]) -> torch.Tensor:
        index = {}
        for name, pairs in edges.items():
            if pairs:
                e = torch.tensor(pairs)
                index["to" + name] = (e[:, 0], e[:, 1])
                index["from" + name] = (e[:, 1], e[:, 0])
        out = torch.zeros_like(h)
        for key, (source, target) in index.items():
            out = out.index_add(0, target, self.sent[key](h[source]))
        return out


class OfGraphs(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(10, 4)
        self.messages = Messages(("Child", "Next"))

    def forward(self, graph: Graph):
        h = self.table(torch.tensor(graph["nodes"]))
        return self.messages(h, graph["edges"])[graph["place"]]


def test_keys_that_an_annotation_says() -> None:
    graphs = [
        {"nodes": [1, 2, 3], "edges": {"Child": [(0, 1), (0, 2)], "Next": [(1, 2)]}, "place": 1},
        {"nodes": [4], "edges": {"Child": [], "Next": []}, "place": 0},
        {"nodes": [5, 5], "edges": {"Child": [(0, 1)], "Next": []}, "place": 1},
    ]
    agrees(OfGraphs(), graphs)
