"""Comparisons of ints that the host has: programs as text before and after `simplify`, and a model that waits for nothing."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from backends.acrobat.ir.nodes import Item
from backends.acrobat.ir.visitor import walk
from backends.acrobat.options import Options
from backends.acrobat.passes import simplify
from backends.acrobat.passes.tests.texts import assert_makes
from backends.acrobat.pipeline import optimise
from backends.acrobat.tests.zoo.check import agrees

BEFORE = """\
entry forward

def forward(instance: (list[int], int, float)) -> (list[float], float, float, float, float, float, f32[])
  xs: list[int] = instance[0]
  k: int = instance[1]
  x: float = instance[2]
  flags: list[float] = map i: int in xs
    s: f32[] = scalar(i)
    e: f32[] = equal(s, 3.0)
    number: float = item e as float
    number
  a: f32[] = scalar(k)
  b: f32[] = scalar(x)
  c: f32[] = less(1.5, a)
  ca: float = item c as float
  d: f32[] = less_equal(b, a)
  da: float = item d as float
  f: f32[] = add(a, 1.0)
  fa: float = item f as float
  kept: f32[] = equal(a, a)
  ba: float = item b as float
  aa: float = item a as float
  (flags, ca, da, fa, ba, aa, kept)
"""

AFTER = """\
entry forward

def forward(instance: (list[int], int, float)) -> (list[float], float, float, float, float, float, f32[])
  xs: list[int] = instance[0]
  k: int = instance[1]
  x: float = instance[2]
  flags: list[float] = map i: int in xs
    holds: bool = host eq(i, 3)
    number: float = host float(holds)
    number
  a: f32[] = scalar(k)
  b: f32[] = scalar(x)
  holds_1: bool = host lt(1.5, k)
  ca: float = host float(holds_1)
  d: f32[] = less_equal(b, a)
  da: float = item d as float
  f: f32[] = add(a, 1.0)
  fa: float = item f as float
  kept: f32[] = equal(a, a)
  ba: float = item b as float
  aa: float = host float32(k)
  (flags, ca, da, fa, ba, aa, kept)
"""


def test_ints_are_compared_where_they_are() -> None:
    """A float is rounded to float32 in a tensor, so its comparison stays one of tensors."""
    assert_makes(BEFORE, AFTER, simplify.run)


class Routed(nn.Module):
    def forward(self, ids: Any) -> Any:
        counts = []
        for expert in range(3):
            (places,) = torch.where(ids == expert)
            counts.append(places.numel())
        return counts, torch.where(ids >= 1)[0]


def test_a_model_that_routes_by_ints_waits_for_nothing() -> None:
    program = agrees(Routed(), [torch.tensor(x) for x in ([0, 2, 2], [1], [2, 0, 1, 1])])
    nodes = [n for f in program.functions.values() for n in walk(f.body)]
    assert any(isinstance(n, Item) for n in nodes)
    made = optimise(program, Options())
    assert not any(isinstance(n, Item) for f in made.functions.values() for n in walk(f.body))
