"""Entries that are None in all dictionaries with some keys and something else in others; `isinstance` of what a call gives."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward

RULES = [
    lambda k: k.get("b") is True,
    lambda k: isinstance(k.get("s"), float) and k["s"] < 88.0,
]
KNOWN = [
    {"s": 80.0, "b": True},
    {"s": None, "b": False},
    {"b": "x", "s": 3},
    {"p": 5.5, "s": 91.0, "b": None},
]
FEW = [{"b": True, "s": 1.0}, {"b": False, "s": None}, {"b": None, "p": 3.0, "s": 1.5}]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.emb = nn.Embedding(8, 4)

    def close(self, key, size, h, report):
        report[key] = report.get(key, 0) + size
        return h + self.emb.weight[key]


def by_rules(self, known):
    return [rule(known) for rule in RULES]


def asked(self, known):
    number = isinstance(known.get("s"), (int, float))
    return number, 1 if isinstance(known.get("b"), str) else 0, isinstance(known.get("none"), str)


def is_none(self, known):
    return known["b"] is None, known.get("b") is True


@pytest.mark.parametrize(("function", "sample"), [(by_rules, KNOWN), (asked, KNOWN), (is_none, KNOWN), (is_none, FEW)])
def test_as_eager(function, sample) -> None:
    agrees(with_forward(Model(), function), sample)


def test_natively(codegen, tmp_path) -> None:
    agrees_natively(with_forward(Model(), by_rules), KNOWN, codegen, tmp_path)


def test_a_dictionary_that_a_call_changes_behind_a_tuple() -> None:
    def evicted(self, numbers):
        report, h = {}, self.emb.weight[0]
        for i, n in enumerate(numbers):
            old = (n, i) if n % 2 else None
            if old is not None:
                h = self.close(*old, h, report)
        return h, report

    agrees(with_forward(Model(), evicted), [[3, 1, 2], [5], [4, 4, 1, 0, 2], [7, 3, 3]])
