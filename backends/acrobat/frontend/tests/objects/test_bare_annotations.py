"""Annotations that do not say what a value is, such as `typing.Dict` and `range`, or cannot be evaluated, against eager
PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Set, Tuple  # noqa: UP035

import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward

if TYPE_CHECKING:
    from backends.acrobat.frontend.types import Unwritten  # type: ignore[attr-defined]


class Runs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(5, 3)

    def runs(self, path: List) -> List[Dict]:  # noqa: UP006
        result = []
        start = 0
        for at, label in enumerate(path):
            if at + 1 == len(path) or path[at + 1] != label:
                result.append({"label": label, "start": start, "end": at + 1})
                start = at + 1
        return result

    def counted(self, path: List[int]) -> Dict:  # noqa: UP006
        counts: Dict = {}  # noqa: UP006
        for label in path:
            counts[label] = counts.get(label, 0) + 1
        return counts

    def seen(self, path: List[int]) -> Tuple[Tuple, Set]:  # noqa: UP006
        return (path[0], len(path)), set(path)

    def forward(self, path: List[int]) -> Any:  # noqa: UP006
        means = [self.table(torch.tensor(path[r["start"] : r["end"]])).mean(0) * r["label"] for r in self.runs(path)]
        first, labels = self.seen(path)
        return torch.stack(means), self.counted(path), first, 3 in labels


def test_they_leave_open_what_the_values_tell() -> None:
    agrees(Runs(), [[1, 1, 3], [2], [0, 4, 4, 4, 0]])


def rows_in(x: torch.Tensor, order: range, scale: complex = 1) -> List[Unwritten]:  # noqa: UP006
    return [x[i] * scale for i in order]


@dataclass
class Span:
    at: slice
    label: Unwritten


def of_imports_for_checkers(self: nn.Module, x: Unwritten) -> Unwritten:
    first: Unwritten = rows_in(x, range(1))
    number: bytes = x.size(0)
    span = Span(number, len(first))  # type: ignore[arg-type]
    return rows_in(x, range(number - 1, -1, -1)), span.at, span.label  # type: ignore[operator]


def test_values_tell_what_annotations_cannot() -> None:
    agrees(with_forward(nn.Module(), of_imports_for_checkers), [torch.randn(n, 4) for n in (3, 1, 5)])
