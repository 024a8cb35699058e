"""Annotations with `typing.Dict`, `List`, `Tuple` and `Set` that do not say of what, against eager PyTorch."""

from __future__ import annotations

from typing import Any, Dict, List, Set, Tuple  # noqa: UP035

import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees


class Runs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(5, 3)

    def runs(self, path: List) -> List[Dict]:  # type: ignore[type-arg]  # noqa: UP006
        result = []
        start = 0
        for at, label in enumerate(path):
            if at + 1 == len(path) or path[at + 1] != label:
                result.append({"label": label, "start": start, "end": at + 1})
                start = at + 1
        return result

    def counted(self, path: List[int]) -> Dict:  # type: ignore[type-arg]  # noqa: UP006
        counts: Dict = {}  # type: ignore[type-arg]  # noqa: UP006
        for label in path:
            counts[label] = counts.get(label, 0) + 1
        return counts

    def seen(self, path: List[int]) -> Tuple[Tuple, Set]:  # type: ignore[type-arg]  # noqa: UP006
        return (path[0], len(path)), set(path)

    def forward(self, path: List[int]) -> Any:  # noqa: UP006
        means = [self.table(torch.tensor(path[r["start"] : r["end"]])).mean(0) * r["label"] for r in self.runs(path)]
        first, labels = self.seen(path)
        return torch.stack(means), self.counted(path), first, 3 in labels


def test_they_leave_open_what_the_values_tell() -> None:
    agrees(Runs(), [[1, 1, 3], [2], [0, 4, 4, 4, 0]])
