"""Classes and fields of the source that are named as the compiler names its own are like others. Two classes of one name in one
place are refused."""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat.errors import CompileError
from backends.acrobat.tests.zoo.check import agrees, agrees_natively


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


@dataclass
class Made_int_str:
    x: Tensor
    n: int


@dataclass
class Optional_ScalarT_kind__int__:
    x: Tensor
    n: int


@dataclass
class class_Tree_0:
    x: Tensor
    n: int


@dataclass
class of_int:
    x: Tensor
    n: int


@dataclass
class Numbered:
    x: Tensor
    number_of_object: int


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


class Optionals(nn.Module):
    """An object beside an int or None."""

    def forward(self, job: Any, n: int) -> Any:
        found = None
        for k in range(n):
            if k > 1:
                found = k
        return job.x if found is None else job.x * job.n * found, job, found


class Leaves(nn.Module):
    """An object beside a list that ints and strings are put into."""

    def forward(self, job: Any, n: int) -> Any:
        made: list = []
        for k in range(n):
            made.append(k if k % 2 else "even")
        return made, job.x * job.n, job


class Both(Pairs):
    def forward(self, one: Any, other: Any, count: int) -> Any:  # type: ignore[override]
        return self.pairs(count), one.x * one.n + other.x * other.n, one, other


def vector() -> Tensor:
    return torch.randn(4)


class SameObjects(nn.Module):
    """The same objects in a list, each found by itself and not by what it holds."""

    def forward(self, items: list[Numbered]) -> Any:
        total = torch.zeros(4)
        for a in items:
            for b in items:
                if a is b:
                    total = total + a.x * b.number_of_object
        return total, items[0]


def test_a_field_that_is_named_as_the_number_of_an_object(tmp_path: Path) -> None:
    one, other = Numbered(vector(), 2), Numbered(vector(), 3)
    instances = [[one, other], [other, one, other], [one]]
    agrees(SameObjects(), instances)
    agrees_natively(SameObjects(), instances, "vm", tmp_path)


def test_classes_of_one_name() -> None:
    namesake = make_dataclass("Tree_0", [("x", Tensor), ("k", int)])
    with pytest.raises(CompileError, match="several classes that are called `Tree_0` stand in one place"):
        agrees(Last(), [[Tree_0(vector(), 1), namesake(vector(), 2)]])


def test_a_recursive_class() -> None:
    agrees(Chain(), [SharedListing(vector(), SharedListing(vector(), None)), SharedListing(vector(), None)])


@pytest.mark.parametrize("cls", [SharedList_list_0, Unassigned_job, Either_way, Met_office, Constant_dictation, of_int])
def test_a_list_of_objects(cls: Any) -> None:
    agrees(Last(), [[cls(vector(), 1), cls(vector(), 2)], [cls(vector(), 1)]])


ALL = [Tree_0, class_Tree_0, Mixed_int_str, Mixed_int_tuple, Made_int_str, Optional_ScalarT_kind__int__, of_int]


def test_two_classes_with_such_names() -> None:
    instances = [(Tree_0(vector(), n), class_Tree_0(vector(), 3), n) for n in (0, 2)]
    agrees(Both(), instances, spread=True)


@pytest.mark.parametrize("cls", ALL)
def test_an_object_beside_values_of_several_types(cls: Any) -> None:
    agrees(Sums(), [(cls(vector(), 1), 3, (1, (2, 3))), (cls(vector(), 2), "a", 4)], spread=True)
    for model in (Pairs(), Optionals(), Leaves()):
        instances = [(2, cls(vector(), 1)), (0, cls(vector(), 2)), (4, cls(vector(), 3))]
        agrees(model, instances if isinstance(model, Pairs) else [(job, n) for n, job in instances], spread=True)
