"""What the front end asks of a function's source once, though it compiles round after round and for each call anew."""

from __future__ import annotations

import typing
from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.frontend import build
from backends.acrobat.frontend.evaluator.changes import scope
from backends.acrobat.frontend.evaluator.syntax.reading import live_after


class Steps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(4, 4)

    def step(self, x: Tensor, scale: float) -> Tensor:
        return self.cell(x) * scale

    def forward(self, numbers: list[float]) -> Tensor:
        x = torch.zeros(4)
        for n in numbers:
            x = self.step(x, n)
        return self.step(self.step(x, 2.0), 3.0)


def test_the_annotations_of_a_function_are_evaluated_once_for_all_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[Any] = Counter()
    evaluate = typing.get_type_hints

    def counted(owner: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        asked[owner] += 1
        return evaluate(owner, *args, **kwargs)

    monkeypatch.setattr(typing, "get_type_hints", counted)
    build(Steps())
    assert asked[Steps.step] == 1


class Nested(nn.Module):
    """Loops in loops: each trial of the outer one compiles the inner one again."""

    def forward(self, rows: list[list[float]]) -> list[float]:
        total, sums = 0.0, [0.0]
        for row in rows:
            last = total
            for x in row:
                total = total + x * last
            sums = [*sums, total]
        return sums


def test_whether_a_name_is_read_after_a_statement_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[Any] = Counter()

    def counted(body: Any, s: Any, name: str) -> bool:
        asked[id(body), id(s), name] += 1
        return live_after(body, s, name)

    monkeypatch.setattr(scope, "live_after", counted)
    build(Nested())
    assert asked and set(asked.values()) == {1}
