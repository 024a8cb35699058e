"""`str`, `repr`, f-strings, `%` and `format` of objects: by their class's own method, or by that of a dataclass."""

# mypy: ignore-errors
from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1], [9, 9], [6, 2, 2, 3, 3, 3, 7, 1]]


@dataclass
class Tree:
    label: int
    children: list[Tree] = field(default_factory=list)

    def __str__(self):
        return str(self.label) + ("(" + ",".join(map(str, self.children)) + ")" if self.children else "")


class Leaf:
    def __init__(self, word):
        self.word = word

    def __repr__(self):
        return f"<{self.word}>"


@dataclass
class Item:
    start: int
    score: float
    name: str = "it's"
    ids: list[int] = field(default_factory=list)
    hidden: int = field(default=0, repr=False)


@dataclass
class Binary:
    label: int
    left: Binary | None = None
    right: Binary | None = None


@dataclass
class Chain:
    label: int
    before: Chain | None = None
    after: list[Chain] = field(default_factory=list)


class Named(Item):
    """Its text has its own name, though the method is that of the base."""


def trees_or_none(self, xs):
    root = None
    for x in xs:
        if root is None:
            root = Tree(x)
        else:
            root.children.append(Tree(x, [Tree(x + 1)] if x % 2 else []))
    best = root if len(xs) > 1 else None
    return str(root), str(best), f"{best}", f"{root!s:>30}", "%s and %s" % (best, root), "{}".format(best)  # noqa: UP031, UP032


def by_repr(self, xs):
    leaves = [Leaf(x) for x in xs]
    last = leaves[-1] if xs[0] % 2 else None
    return str(leaves[0]), repr(last), f"{last!r}|{last}", str(leaves), ", ".join(map(str, leaves))


def of_dataclasses(self, xs):
    items = [Item(x, x / 4, ids=[x, x + 1]) for x in xs]
    chosen = None
    for item in items:
        if item.score > 0.5:
            chosen = item
    return [str(item) for item in items], repr(items[0]), f"best: {chosen}", str(items)


def of_trees_of_dataclasses(self, xs):
    root = None
    for x in xs:
        root = Binary(x, root, None if root is None else Binary(x + 1))
    return repr(root), str(root.left)


@pytest.mark.parametrize(
    "function", [trees_or_none, by_repr, of_dataclasses, of_trees_of_dataclasses], ids=lambda f: f.__name__
)
def test_as_in_python(function: Any) -> None:
    agrees(with_forward(nn.Module(), function), LISTS)


class Growing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(10, 4)

    def forward(self, xs):
        root = None
        for x in xs:
            more = self.words(torch.tensor(x)).sum().item() > 0
            root = Tree(x, [] if root is None else [root]) if more else root
        return str(root), self.words(torch.tensor(xs)).sum(0)


def test_of_decisions(codegen: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    agrees_natively(Growing(), LISTS, codegen, tmp_path)


def in_circles(self, xs):
    root = Chain(0)
    at = root
    for x in xs:
        at.after.append(Chain(x, at))
        at = at.after[-1]
    return str(root)


REFUSED = {"circles": in_circles, "a derived class": lambda self, xs: str(Named(xs[0], 0.5))}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    with pytest.raises(CompileError, match="`str` cannot be used like this here"):
        build(with_forward(nn.Module(), REFUSED[name]), sample=LISTS)
