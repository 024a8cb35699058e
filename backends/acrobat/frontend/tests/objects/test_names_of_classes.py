"""Classes of the source that are named as the compiler names unions of its own are classes like others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.tests.zoo.check import agrees


@dataclass
class SharedListing:
    x: Tensor
    left: SharedListing | None


@dataclass
class SharedList_list_0:
    x: Tensor
    n: int


@dataclass
class Unassigned_job:
    x: Tensor
    n: int


@dataclass
class Either_way:
    x: Tensor
    n: int


@dataclass
class Met_office:
    x: Tensor
    n: int


@dataclass
class Constant_dictation:
    x: Tensor
    n: int


class Chain(nn.Module):
    def forward(self, tree: SharedListing) -> Tensor:
        x = tree.x
        if tree.left is not None:
            x = x + self.forward(tree.left)
        return x


class Last(nn.Module):
    def forward(self, items: list) -> Any:
        last = items[0]
        for item in items:
            if item.n > 1:
                last = item
        return last.x * last.n if last else last.x, items


def vector() -> Tensor:
    return torch.randn(4)


def test_a_recursive_class() -> None:
    agrees(Chain(), [SharedListing(vector(), SharedListing(vector(), None)), SharedListing(vector(), None)])


@pytest.mark.parametrize("cls", [SharedList_list_0, Unassigned_job, Either_way, Met_office, Constant_dictation])
def test_a_list_of_objects(cls: Any) -> None:
    agrees(Last(), [[cls(vector(), 1), cls(vector(), 2)], [cls(vector(), 1)]])
