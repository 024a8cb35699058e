"""Which object it is: `id(node)` and `is`, of objects of ordinary classes and of dataclasses read by their annotations, also
where one may be None. The module has such objects of its own, made when it is imported."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor, nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively


@dataclass(eq=False)
class Node:
    kind: str
    args: list[Node] = field(default_factory=list)
    value: float | None = None


@dataclass
class Tree:
    word: int
    left: Tree | None = None
    right: Tree | None = None


class Plain:
    def __init__(self, word, left=None, right=None):
        self.word = word
        self.left = left
        self.right = right


LEAF = Node("a")
SUM = Node("b", [LEAF, LEAF])
NODES = [LEAF, SUM, Node("c", [SUM, LEAF, SUM])]


def _trees(cls: Any) -> list[Any]:
    leaf = cls(1)
    pair = cls(2, leaf, leaf)
    return [leaf, pair, cls(3, pair, leaf), cls(2, cls(1), cls(1))]


class Memo(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.e = nn.Embedding(6, 4)

    def encode(self, node: Node, memo: dict[int, Tensor]) -> Tensor:
        key = id(node)
        if key in memo:
            return memo[key]
        h = self.e.weight[len(memo)]
        for x in node.args:
            h = h + self.encode(x, memo)
        memo[key] = h
        return h

    def forward(self, root: Node) -> Tensor:
        memo: dict[int, Tensor] = {}
        h = self.encode(root, memo)
        return h * len(memo)


class Annotated(nn.Module):
    def forward(self, root: Tree) -> tuple[bool, bool, bool, int]:
        same = root.left is not None and root.left is root.right
        match root:
            case Tree(w, None, None):
                n = w
            case Tree(w, left=inner):
                n = w * (inner.word if inner else 1)
        return same, root.left is root.right, root.left is not root, n


class Visited(nn.Module):
    def forward(self, root):
        last = None
        n = 0
        stack = [root]
        while stack:
            x = stack.pop()
            if x is last:
                n += 10
            if x is not root:
                n += 1
            last = x
            for c in (x.left, x.right):
                if c is not None:
                    stack.append(c)
        return n, root.left is root.right


class Copied(nn.Module):
    def forward(self, root: Tree) -> bool:
        other = Tree(4, root, root)
        return other.left is other.right


CASES = [(Memo, NODES), (Annotated, _trees(Tree)), (Visited, _trees(Plain))]


@pytest.mark.parametrize(("cls", "sample"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_as_eager(cls: Any, sample: list[Any]) -> None:
    agrees(cls(), sample)


@pytest.mark.parametrize(("cls", "sample"), CASES[:2], ids=lambda x: getattr(x, "__name__", ""))
def test_natively(cls: Any, sample: list[Any], codegen: str, tmp_path: Path) -> None:
    agrees_natively(cls(), sample, codegen, tmp_path)


def test_objects_that_the_model_makes_too() -> None:
    with pytest.raises(CompileError, match="told apart by identity, and this makes a new one"):
        build(Copied(), sample=_trees(Tree))


class Made:
    def __init__(self) -> None:
        self.h = 0


class Others(Made):
    pass


class OfSeveralClasses(nn.Module):
    """Objects of classes that never stand in one place have no number in common."""

    def forward(self, root: Any) -> tuple[list[bool], list[bool], int]:
        made = [Made() for _ in range(8)]
        one = Others()
        last, more = made[-1], [one]
        last.h, more[0].h = 1, 2
        memo = {id(root): 1}
        return [id(x) in memo for x in made], [id(x) == id(one) for x in made], made[7].h + one.h


def test_numbers_of_objects_of_other_classes() -> None:
    agrees(OfSeveralClasses(), _trees(Plain))
