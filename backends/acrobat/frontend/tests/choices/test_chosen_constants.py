"""Numbers and strings that are chosen at run time from constants, such as the name of an object's class, as values."""

# mypy: ignore-errors
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


class Node:
    rank = 1
    weight = 0.5
    mixed: Any = 1


@dataclass
class Leaf(Node):
    word: int
    mixed = "one"


@dataclass
class Pair(Node):
    left: Any
    right: Any
    rank = 2


@dataclass
class Many(Node):
    children: list
    rank = 3
    weight = 1.5


class Names(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.w = nn.Parameter(torch.randn(4))
        self.heads = nn.ModuleDict({name: nn.Linear(4, 4) for name in ("Leaf", "Pair", "Many")})

    def visit_Leaf(self, node):
        return self.w * node.word

    def visit_Pair(self, node):
        return self.visit(node.left) - self.visit(node.right)

    def visit_Many(self, node):
        return sum([self.visit(child) for child in node.children], self.w)

    def visit(self, node):
        name = type(node).__name__
        return torch.tanh(self.heads[name](getattr(self, f"visit_{name}")(node)))


def as_results(self, node):
    name = type(node).__name__
    return {"root": name, "h": self.visit(node), "rank": type(node).rank, "text": "a " + name, "weight": type(node).weight * 2}


def found(self, node):
    names = [type(node).__name__]
    if isinstance(node, Many):
        names = [type(child).__name__ for child in node.children] + names
        last = node
        for child in node.children:
            last = child
            names.append(type(last).__name__.lower())
    return names


def collected(self, node):
    names = found(self, node)
    counts, places, seen = Counter(names), {}, set()
    name = type(node).__name__
    places[name] = len(names)
    seen.add(name)
    return (
        counts,
        places,
        places.get(name, 0),
        name in seen,
        sorted({*names, name}),
        counts[name],
        [name] * 2,
        (name, name[0], len(name)),
    )


def compared(self, node):
    rank, name, weight = type(node).rank, type(node).__name__, type(node).weight
    other = node.children[0] if isinstance(node, Many) else node
    order = rank < 2, rank >= 2, rank > 1, name < "M", name >= "Leaf", name != "Pair", weight < 1, rank == 3
    both = type(other).__name__ == name, type(other).rank < rank, type(other).rank + rank, -rank, max(rank, 2), rank * 0.5
    return order, both, rank if rank > 1 else 0, name if name else "none", float(rank), f"{name:>6}{rank:02d}"


def label(node, deep):
    if deep:
        return type(node).__name__
    return "shallow"


def assigned(self, node):
    name = "none"
    rank = 0
    if isinstance(node, Many):
        for child in node.children:
            name = type(child).__name__
            rank += type(child).rank
    elif isinstance(node, Pair):
        name = type(node.left).__name__
    best = type(node).rank
    while best < 5:
        best = best + type(node).rank
    maybe = type(node).__name__ if not isinstance(node, Leaf) else None
    return name, rank, best, maybe, label(node, rank > 2), self.w + torch.tensor(type(node).weight), self.w * type(node).rank


def in_one_arm(self, node):
    if isinstance(node, Many) and len(node.children) > 1:
        name = type(node.children[1]).__name__
    else:
        name = type(node).__name__
    if name == "Leaf":
        key = type(node).__name__
    else:
        raise_if_empty(name)
        key = name
    return key, self.heads[key](self.w)


def raise_if_empty(name):
    if not name:
        raise ValueError("no name")


TREES = [
    Leaf(3),
    Pair(Leaf(1), Pair(Leaf(2), Many([]))),
    Many([Leaf(1), Pair(Leaf(0), Leaf(5)), Many([Leaf(1)])]),
    Many([Pair(Leaf(1), Leaf(2)), Leaf(7)]),
    Many([Leaf(2)]),
]
FUNCTIONS = [as_results, found, collected, compared, assigned, in_one_arm]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_interpreter(function: Any) -> None:
    agrees(with_forward(Names(), function), TREES)


def everything(self, node):
    return as_results(self, node), collected(self, node), compared(self, node), assigned(self, node), in_one_arm(self, node)


def test_generated_code(codegen: Any, tmp_path: Path) -> None:
    agrees_natively(with_forward(Names(), everything), TREES, codegen, tmp_path)


def of_several_types(self, node):
    return {"n": type(node).mixed}


def test_constants_of_several_types_are_refused() -> None:
    with pytest.raises(CompileError, match="are of several types"):
        build(with_forward(Names(), of_several_types), sample=TREES)
