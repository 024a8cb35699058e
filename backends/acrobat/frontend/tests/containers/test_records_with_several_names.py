"""Dictionaries whose keys are names, changed while several names refer to them; copies of what is one of several classes."""

# mypy: ignore-errors

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.errors import CompileError
from backends.acrobat.frontend import build
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

LISTS = [[3, 1, 2], [5], [4, 4, 0, 7], [], [1, 2, 3, 4]]


def two_names(self, xs):
    first = {"x": 1, "h": self.embedding(torch.tensor(1))}
    second = first
    for x in xs:
        second["x"] += x
        second["h"] = torch.tanh(self.lin(second["h"]))
    return first, second["x"]


def in_lists(self, xs):
    nodes = [{"h": self.embedding(torch.tensor(x)), "parent": -1, "done": False} for x in xs]
    agenda = list(nodes)
    while len(agenda) > 1:
        left, right = agenda.pop(0), agenda.pop(0)
        left["done"] = right["done"] = True
        both = {"h": torch.tanh(self.lin(left["h"]) + right["h"]), "parent": len(agenda), "done": False}
        left["parent"] = right["parent"] = both["parent"]
        nodes.append(both)
        agenda.append(both)
    return [(n["h"], n["parent"], n["done"]) for n in nodes]


def tree(self, xs):
    root: dict[str, Any] = {"word": 0, "children": [], "left": None}
    current = root
    for x in xs:
        node = {"word": x, "children": [], "left": current["children"][-1] if current["children"] else None}
        current["children"].append(node)
        if node["left"] is not None:
            node["left"]["word"] += 10
        if x % 2:
            current = node
    words, stack = [], [root]
    while stack:
        top = stack.pop()
        words.append(top["word"])
        stack.extend(top["children"])
    return words


def arguments(self, xs):
    def bump(one, other):
        one["n"] += 1
        other["n"] *= 2
        return one is other

    first, second = {"n": 1}, {"n": 5}
    return [bump(first, second if x % 2 else first) for x in xs], first, second


def copies(self, xs):
    first = {"n": 0, "inner": {"m": 1}}
    inner = first["inner"]
    by_call, by_method, by_stars, by_copy = dict(first), first.copy(), {**first}, copy.copy(first)
    for x in xs:
        inner["m"] += x
        first["n"] += 1
        by_method["n"] -= 1
    by_call["n"], by_stars["n"], by_copy["n"] = 7, 8, 9
    return first, by_call, by_method, by_stars, by_copy


def compared(self, xs):
    first, second = {"x": 1, "y": [1, 2]}, {"x": 1, "y": [1, 2]}
    third = first
    before = first == second, first is second, first is third, first in [second], [second].index(first)
    third["x"] = 2 + len(xs)
    return before, first == second, first == third, first in [second], first != second


def by_methods(self, xs):
    first = {"a": 1.0, "b": 2.5}
    second = first
    second.update(a=float(len(xs)))
    second |= {"b": 0.5}
    for x in xs:
        second["a" if x % 2 else "b"] += x
    return first, len(first), "a" in first, first.get("c", 3.0), list(first), sum(second.values())


def of_several_sets_of_keys(self, xs):
    records = [{"x": x, "h": 1.5} if x % 2 else {"x": x, "n": x} for x in xs]
    if records:
        first = records[0]
        first["x"] = 100
        other = first.copy()
        other["x"] = 7
        records.append(other)
    return records, [r.get("h", 0.0) for r in records]


def spread_of_several_sets_of_keys(self, xs):
    records = [{"x": x, "h": 1.5} if x % 2 else {"x": x, "n": x} for x in xs]
    return [{**r, "x": 9, "k": 1} for r in records]


class One:
    def __init__(self, x, h):
        self.x, self.h = x, h


class Other:
    def __init__(self, x, n):
        self.x, self.n = x, n


class Third:
    def __init__(self, x):
        self.x = x


def copies_of_several_classes(self, xs):
    made = [One(x, 1.5) if x % 2 else Other(x, x) for x in xs]
    best = None
    for one in made:
        if one.x > 2:
            best = one
    copied = copy.copy(best)
    first, second = One(50, 2.0), Other(60, 3)
    if copied is not None:
        copied.x += 1
    for one in made:
        one.x += 10
    return [one.x for one in made], copied.x if copied is not None else -1, first.x, second.x


def a_class_that_joins_later(self, xs):
    made = [One(x, 1.5) if x % 2 else Other(x, x) for x in xs]
    best = None
    for one in made:
        if one.x > 2:
            best = one
    every = [*made, Third(7)]
    for one in every:
        one.x += 10
    return [one.x for one in every], best.x if best is not None else 0


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.embedding = nn.Embedding(10, 4)
        self.lin = nn.Linear(4, 4)


WORK = [
    two_names,
    in_lists,
    tree,
    arguments,
    copies,
    compared,
    by_methods,
    of_several_sets_of_keys,
    spread_of_several_sets_of_keys,
    copies_of_several_classes,
    a_class_that_joins_later,
]


@pytest.mark.parametrize("function", WORK, ids=lambda f: f.__name__)
def test_interpreter(function: Any) -> None:
    agrees(with_forward(Model(), function), LISTS)


def test_generated_code(codegen: str, tmp_path: Path) -> None:
    agrees_natively(with_forward(Model(), in_lists), LISTS, codegen, tmp_path)


def gets_a_key(self, xs):
    first = {"x": 1}
    second = first
    for x in xs:
        second["x"] += x
    second["y"] = 3
    return first


def loses_a_key(self, xs):
    first = {"x": 1, "y": 2}
    second = first
    second["x"] += len(xs)
    return second.pop("y"), first


@pytest.mark.parametrize("function", [gets_a_key, loses_a_key], ids=lambda f: f.__name__)
def test_other_keys_are_refused(function: Any) -> None:
    with pytest.raises(CompileError, match="gets other keys than it was made with, while other names may refer to it"):
        build(with_forward(Model(), function), sample=LISTS)
