"""Dictionaries whose keys are names, in which one key has a list first and then what was made of it."""

# mypy: ignore-errors
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.score = nn.Linear(4, 1)

    def finish(self, result):
        result["scores"] = torch.stack(result["scores"])
        return result

    def note(self, result, x):
        result["scores"].append(self.score(x).sum())

    def up(self, depth, x):
        if depth == 0:
            return {"h": x, "depths": []}
        result = {"h": [], "depths": []}
        for _ in range(2):
            below = self.up(depth - 1, x * depth)
            result["h"].append(below["h"])
            result["depths"].append(depth + len(below["depths"]))
        result["h"] = torch.stack(result["h"]).sum(0)
        return result


def detections(self, x):
    empty = {"boxes": torch.zeros(0, 4), "scores": torch.zeros(0), "labels": []}
    if len(x) == 1:
        return empty
    result = {"boxes": x * 2, "scores": [], "labels": []}
    for row in x:
        result["scores"].append(self.score(row).sum())
        result["labels"].append("yes" if row[0] > 0 else "no")
    result["scores"] = torch.stack(result["scores"])
    return result


def every_key(self, x):
    result = {"low": [], "high": []}
    for row in x:
        result["low"].append(row.min())
        result["high"].append(row.max())
    for name in ("low", "high"):
        result[name] = torch.stack(result[name])
    return result


def by_other_ways(self, x):
    first = {"scores": [], "n": 0}
    for row in x:
        self.note(first, row)
        first["n"] += 1
    second = dict(first)
    second.update(scores=torch.stack(second["scores"]))
    third = {**second, "scores": second["scores"].sum() if len(x) > 2 else torch.zeros(())}
    return first, second, third, self.finish({"scores": [row[0] for row in x], "n": 1})


def counts(self, x):
    counted = {"rows": [row * 2 for row in x], "x": x}
    counted["rows"] = len(counted["rows"])
    return counted


def best(self, x):
    found = None
    for row in x:
        each = {"parts": [], "of": row}
        for number in row:
            each["parts"].append(number * 2)
        each["parts"] = torch.stack(each["parts"])
        if found is None or each["parts"].sum() > found["parts"].sum():
            found = each
    return found


def in_a_recursion(self, x):
    return self.up(2, x)


MODELS = [detections, every_key, by_other_ways, counts, best, in_a_recursion]
INSTANCES = [torch.randn(n, 4, generator=torch.Generator().manual_seed(n)) for n in (2, 1, 5, 3)]


@pytest.mark.parametrize("forward", MODELS, ids=[f.__name__ for f in MODELS])
def test_as_python(forward: Any) -> None:
    agrees(with_forward(Model(), forward), INSTANCES)


@pytest.mark.parametrize("codegen", ["aot", "vm"])
def test_natively(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Model(), detections), INSTANCES, codegen, tmp_path)


def test_a_list_on_one_path_and_a_tensor_on_another_are_refused() -> None:
    def forward(self, x):
        result = {"scores": [row.sum() for row in x]}
        if len(x) > 2:
            result["scores"] = torch.stack(result["scores"])
        return result

    with pytest.raises(CompileError, match="list of tensors"):
        build(with_forward(Model(), forward), sample=INSTANCES)
