"""Shrunk programs that were once compiled wrongly, as random search found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from backends.acrobat.ir.tests.programs import Sample
from backends.acrobat.ir.tests.reader import read_program
from backends.acrobat.options import Options
from backends.acrobat.tests.random_cases import Case
from backends.acrobat.tests.random_checks import check_cases

NOTHING_CARRIED = """\
entry forward
weight w: f32[3]

def forward(xs: list[f32[3]]) -> (f32[3], float)
  folded: (f32[3],) = fold x: f32[3] in xs with state: f32[3] = @w
    mean: f32[] = mean(x, dim=0, keepdim=False)
    number: float = item mean as float
    (state,)
  state_1: f32[3] = folded[0]
  whole: f32[] = mean(state_1, dim=0, keepdim=False)
  number_1: float = item whole as float
  (state_1, number_1)
"""
"""What the loop carries is a weight and so not carried in the end; the loop waits in a child of its own."""

AN_ARM_OF_AN_EARLIER_PHASE = """\
entry forward
weight w: f32[3]

def forward(instance: (int, list[f32[3]])) -> (f32[3], f32[3])
  n: int = instance[0]
  xs: list[f32[3]] = instance[1]
  folded: (f32[3],) = fold x: f32[3] in xs with state: f32[3] = @w
    next: f32[3] = tanh(state)
    (next,)
  last: f32[3] = folded[0]
  mul: f32[3] = mul(last, @w)
  first: f32[3] = host list.get(xs, 0)
  eq: bool = host eq(n, 1)
  if eq
    early: f32[3] = exp(first)
    lt: bool = host lt(n, 5)
    if lt
      (mul, early)
    else
      (mul, mul)
  else
    (mul, @w)
"""
"""`mul` is of a later phase than what is bound in the branch in which it is given."""

A_TABLE_FOR_EACH_CALL = """\
entry forward
weight a: f32[4, 3]
weight b: f32[4, 3]

def looked_up(table: f32[4, 3], xs: list[int]) -> list[f32[3]]
  map x: int in xs
    row: f32[3] = row(table, x)
    tanh: f32[3] = tanh(row)
    add: f32[3] = add(tanh, row)
    add

def forward(xs: list[int]) -> (list[f32[3]], list[f32[3]])
  of_a: list[f32[3]] = call looked_up(@a, xs)
  of_b: list[f32[3]] = call looked_up(@b, xs)
  (of_a, of_b)
"""
"""Where functions are not cloned for each set of weights, here and with very many of them, which table it is a call tells."""


def case(text: str, instances: list[Any], options: Options) -> Case:
    program = read_program(text)
    random = np.random.default_rng(0)
    values = {name: random.uniform(-1, 1, t.shape).astype(np.float32) for name, t in program.weights.items()}
    return Case(0, Sample(replace(program, values=values), tuple(instances)), options, False)


@pytest.mark.parametrize("options", [Options(), Options(vertical=False, hoist=False)], ids=["default", "plain"])
def test_found_programs(options: Options, tmp_path: Path) -> None:
    lists = [[torch.full((3,), float(i)) for i in range(n)] for n in (0, 2, 3)]
    pairs = [(i % 2, xs) for i, xs in enumerate([*lists[1:], lists[2], lists[1]])]
    cases = [case(NOTHING_CARRIED, lists, options), case(AN_ARM_OF_AN_EARLIER_PHASE, pairs, options)]
    findings = check_cases(cases, tmp_path / "build")
    assert not findings, "\n\n".join(map(str, findings))


def test_rows_of_a_table_that_differs_from_call_to_call(codegen: Literal["vm", "aot"], tmp_path: Path) -> None:
    options = Options(specialise=False, codegen=codegen)
    findings = check_cases([case(A_TABLE_FOR_EACH_CALL, [[], [0, 3, -1], [2]], options)], tmp_path / "build")
    assert not findings, "\n\n".join(map(str, findings))
