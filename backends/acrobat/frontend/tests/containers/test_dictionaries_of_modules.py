"""Dictionaries with values of several types that a comprehension makes, such as what each module of a ModuleDict gives."""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, with_forward

LISTS = [[3], [1, 2, 3], [5, 1, 4, 1, 2], [2, 2]]


def heads() -> nn.Module:
    model = nn.Module()
    model.emb = nn.Embedding(8, 3)
    model.heads = nn.ModuleDict({"key": nn.Linear(3, 2), "beta": nn.Linear(3, 1), "add": nn.Linear(3, 3)})
    model.like = nn.ModuleDict({"one": nn.Linear(3, 2), "other": nn.Linear(3, 2), "last": nn.Linear(3, 2)})
    return model


def by_items(self, xs):
    h = self.emb.weight[xs[0]].unsqueeze(0)
    out = {name: head(h).squeeze(0) for name, head in self.heads.items()}
    return out, torch.sigmoid(out["beta"]) * out["add"]


def by_names(self, xs):
    h = self.emb.weight[xs[-1]]
    out = {f"{k}_{len(self.heads)}": self.heads[k](h) for k in self.heads}
    return out["key_3"], {k: self.heads[k](h).sum() + i for i, k in enumerate(self.heads.keys())}


def some_of_them(self, xs):
    h = self.emb.weight[xs[0]]
    out = {k: torch.sigmoid(m(h)) if k == "key" else m(h) for k, m in self.heads.items()}
    kept = {k: m(h) for k, m in self.like.items() if k != "other"}
    return out, kept, [m(h) for k, m in self.like.items() if "o" in k]


def of_one_name(self, xs):
    h = self.emb.weight[xs[0]]
    return {k[:0]: m(h) for k, m in self.heads.items()}


@pytest.mark.parametrize("forward", [by_items, by_names, some_of_them, of_one_name], ids=lambda f: f.__name__)
def test_as_in_python(forward: Any) -> None:
    agrees(with_forward(heads(), forward), LISTS)


def lists_inside(self, xs):
    h = self.emb.weight[xs[0]]
    return {k: [m(h), len(xs)] for k, m in self.heads.items()}


def lists_written_inside(self, xs):
    return {"a": [self.emb.weight[xs[0]], len(xs)], "b": torch.zeros(1)}


@pytest.mark.parametrize("forward", [lists_inside, lists_written_inside], ids=lambda f: f.__name__)
def test_lists_of_several_types_inside_are_no_tuples(forward: Any) -> None:
    agrees(with_forward(heads(), forward), LISTS)


def pairs_with_gaps(self, xs):
    up, down = [self.emb.weight[x] for x in xs], [None] * len(xs)
    for i in reversed(range(len(xs))):
        down[i] = up[i] * 2
    joined = [torch.cat(pair) for pair in zip(up, down, strict=True)]
    lowest = [torch.stack(pair, dim=1).min(1)[0] for pair in zip(down, up, strict=True)]
    return torch.stack(joined), torch.stack(lowest)


def test_pairs_of_lists_that_had_gaps() -> None:
    agrees(with_forward(heads(), pairs_with_gaps), LISTS)
