"""Tensors of ints with several dimensions as indices: the part has their dimensions in the place of the one that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Tables(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.interval = nn.Parameter(torch.randn(2, 3, 12))
        self.bias = nn.Parameter(torch.randn(4, 5))


def of_a_constant(self: Any, x: Any) -> Any:
    i = torch.tensor([[0, 1], [2, 1], [0, 0]])
    return x[i, 1:3], x[i, :, 1:2], x[i][:, :, 1:3], x[:, i], x[..., i], x[:, i, 2:], x[1, i], x[:, i, None].sum(1)


def of_a_table(self: Any, x: Any) -> Any:
    roots = torch.arange(12)
    step = (roots.unsqueeze(0) - roots.unsqueeze(1)) % 12
    table = self.interval[:, :, step]
    return table.permute(2, 0, 3, 1).reshape(24, 36) @ x.flatten()[:36]


def of_distances(self: Any, x: Any) -> Any:
    places = torch.arange(x.size(0))
    distance = (places[None, :] - places[:, None]).clamp(-2, 2) + 2
    return self.bias[:, distance], self.bias[:, distance].permute(1, 2, 0), distance


def of_an_instance(self: Any, both: Any) -> Any:
    x, ids = both
    apart = (ids.unsqueeze(0) - ids.unsqueeze(1)) % 3
    units = x[:, ids.view(-1, 1)], x[:, ids.view(1, -1), 1:3], x[:, :, ids.view(-1, 1)].transpose(0, 1)
    return units, x[:, apart], x[apart], x[:, apart, :2], x[apart, 1:], x[1, apart], apart


def tensors(*shape: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(*shape, generator=generator) for _ in range(3)]


PAIRS = [(x, torch.tensor(ids)) for x, ids in zip(tensors(3, 4, 5), ([1], [2, 0, 1], [0, 0, 2, 1]), strict=True)]
OF_THREE = [(x, torch.tensor(ids)) for x, ids in zip(tensors(3, 4, 5), ([1, 2, 0], [2, 0, 1], [0, 0, 2]), strict=True)]
ROWS = [torch.ones(n, 2) for n in (1, 2, 5)]
CASES: dict[str, tuple[Any, list[Any]]] = {
    "constant": (of_a_constant, tensors(3, 4, 5)),
    "table": (of_a_table, tensors(6, 6)),
    "distances": (of_distances, ROWS),
    "instance": (of_an_instance, PAIRS),
    "instance_of_three": (of_an_instance, OF_THREE),
}


@pytest.mark.parametrize("name", CASES)
def test_as_in_eager_pytorch(name: str) -> None:
    function, instances = CASES[name]
    agrees(with_forward(Tables(), function), instances)


@pytest.mark.parametrize("name", ["constant", "instance"])
def test_in_generated_code(name: str, tmp_path: Path) -> None:
    function, instances = CASES[name]
    agrees_natively(with_forward(Tables(), function), instances, "vm", tmp_path)
