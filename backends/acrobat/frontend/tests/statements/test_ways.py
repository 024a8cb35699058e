"""Bodies that many ways lead through: what follows is compiled once, and gives what eager Python gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.frontend import build
from backends.acrobat.ir.visitor import walk
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

DIM = 3


class Layers(nn.Module):
    """As many layers, each with an exit, as it is told."""

    def __init__(self, count: int = 7) -> None:
        super().__init__()
        torch.manual_seed(count)
        self.layers = nn.ModuleList(nn.Linear(DIM, DIM) for _ in range(count))
        self.exits = nn.ModuleList(nn.Linear(DIM, 2) for _ in range(count))


def breaks_in_arms(self, instance):
    x, mode, given = instance
    seen = list(given)
    same, before = 0, None
    for depth, (layer, leave) in enumerate(zip(self.layers, self.exits, strict=True), 1):
        x = torch.tanh(layer(x))
        scores = leave(x)
        if mode == "sure":
            if scores.max().item() > 0.45:
                break
        elif mode == "patient":
            label = scores.argmax().item()
            same = same + 1 if label == before else 0
            before = label
            if same == 2:
                break
        seen.append(depth)
    return scores, depth, same, seen


def returns_in_arms(self, instance):
    x, mode, given = instance
    seen = list(given)
    for depth, layer in enumerate(self.layers):
        x = torch.tanh(layer(x))
        total = x.sum().item()
        if total > 0.3:
            if mode == "sure":
                return x, depth, seen
            if mode == "patient" and depth > 3:
                return x * 2.0, -depth, seen
            seen.append(depth)
        elif total < -1.0:
            continue
        x = x + 0.1
        if len(seen) > 2:
            break
    seen.append(-1)
    return x - 1.0, len(seen), seen


def in_a_row(self, instance):
    x, mode, given = instance
    seen = list(given)
    n = x.sum().item()
    label = None
    if n > 0.5:
        seen.append(1)
        if mode == "sure":
            return x, "first", seen
    if n > 0.0:
        x = x * 2.0
        if mode == "patient":
            label = "second"
            if n < 0.2:
                return x, label, seen
    if n > -0.5:
        x = x + 1.0
        if n < -0.4:
            return x, "third", seen
    if label is None:
        seen.append(4)
        if mode is None:
            return -x, "fourth", seen
        label = "fifth"
    if len(seen) > 1:
        seen.pop()
        if mode == "sure":
            return x, "sixth", seen
    return x * 0.5, label, seen


def in_loops_of_run_time(self, instance):
    x, mode, given = instance
    seen = list(given)
    found: list[int] = []
    for row in x.repeat(4).view(4, DIM):
        n = row.sum().item() + len(found)
        if n > 1.0:
            found.append(1)
            if mode == "sure":
                continue
        if n > 2.0:
            found.append(2)
            if mode == "patient":
                break
        if n < 0.1:
            found.append(3)
            if mode is None:
                return found, "none", seen
        if len(found) > 2:
            seen.append(len(found))
            if mode != "sure" and n > 3.0:
                continue
        if n > 4.0:
            found.pop()
            if mode == "patient":
                return found, "late", seen
        found.append(4)
    return found, "end", seen


FORWARDS = [breaks_in_arms, returns_in_arms, in_a_row, in_loops_of_run_time]


def instances(count: int) -> list[Any]:
    generator = torch.Generator().manual_seed(2)
    modes = ["sure", "patient", None]
    return [(torch.randn(DIM, generator=generator), modes[i % 3], [0] * (i % 4)) for i in range(count)]


@pytest.mark.parametrize("forward", FORWARDS)
def test_agrees(forward: Callable[..., Any]) -> None:
    agrees(with_forward(Layers(), forward), instances(40))


@pytest.mark.parametrize("forward", FORWARDS)
def test_agrees_natively(forward: Callable[..., Any], codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Layers(), forward), instances(12), codegen, tmp_path)


@pytest.mark.parametrize("forward", [breaks_in_arms, returns_in_arms])
def test_size_grows_with_the_number_of_rounds(forward: Callable[..., Any]) -> None:
    sizes = []
    for count in (6, 8, 10):
        program = build(with_forward(Layers(count), forward), sample=instances(20))
        sizes.append(sum(1 for f in program.functions.values() for _ in walk(f.body)))
    assert sizes[2] - sizes[1] < 1.3 * (sizes[1] - sizes[0]), sizes
