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


@dataclass
class Tree_0:
    x: Tensor
    n: int


@dataclass
class Mixed_int_str:
    x: Tensor
    n: int


@dataclass
class Mixed_int_tuple:
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


class Sums(nn.Module):
    """An object beside an int or a string and beside an int or a tuple of such."""

    def total(self, tree: Any) -> Any:
        return tree if isinstance(tree, int) else sum([self.total(t) for t in tree])

    def forward(self, job: Any, word: Any, tree: Any) -> Any:
        return job.x * job.n * (word + 1 if isinstance(word, int) else 2) * self.total(tree), job


class Pairs(nn.Module):
    """An object that is met after a tree of tuples was made."""

    def pairs(self, n: int) -> Any:
        return n if n == 0 else (self.pairs(n - 1), n)

    def forward(self, count: int, job: Any) -> Any:
        made = self.pairs(count)
        return made, job.x * job.n


def vector() -> Tensor:
    return torch.randn(4)


def test_a_recursive_class() -> None:
    agrees(Chain(), [SharedListing(vector(), SharedListing(vector(), None)), SharedListing(vector(), None)])


@pytest.mark.parametrize("cls", [SharedList_list_0, Unassigned_job, Either_way, Met_office, Constant_dictation])
def test_a_list_of_objects(cls: Any) -> None:
    agrees(Last(), [[cls(vector(), 1), cls(vector(), 2)], [cls(vector(), 1)]])


@pytest.mark.parametrize("cls", [Tree_0, Mixed_int_str, Mixed_int_tuple])
def test_an_object_beside_values_of_several_types(cls: Any) -> None:
    agrees(Sums(), [(cls(vector(), 1), 3, (1, (2, 3))), (cls(vector(), 2), "a", 4)], spread=True)
    agrees(Pairs(), [(2, cls(vector(), 1)), (0, cls(vector(), 2))], spread=True)
