"""Programs as text before and after a pass: inlining, specialisation, constant work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backends.acrobat.ir.nodes import Program
from backends.acrobat.ir.printer import print_program
from backends.acrobat.ir.tests.reader import read_program
from backends.acrobat.ir.verifier import verify
from backends.acrobat.passes import constants, inline, specialise

INLINE = """\
entry forward
weight w: f32[4, 4]
weight zero: f32[4]

def forward(instance: (list[f32[4]], bool)) -> f32[4]
  xs: list[f32[4]] = instance[0]
  c: bool = instance[1]
  states: list[(f32[4], f32[4])] = map x: f32[4] in xs
    call cell(x, @w)
  total: (f32[4],) = fold state: (f32[4], f32[4]) in states with sum: f32[4] = @zero
    h: f32[4] = state[0]
    next: f32[4] = call plus(sum, h, c)
    (next,)
  last: f32[4] = total[0]
  call grow(last, c)

def cell(x: f32[4], w: f32[4, 4]) -> (f32[4], f32[4])
  c: f32[4] = linear(x, w)
  h: f32[4] = tanh(c)
  state: (f32[4], f32[4]) = (h, c)
  state

def plus(a: f32[4], b: f32[4], c: bool) -> f32[4]
  if c
    add(a, b)
  else
    a

def grow(x: f32[4], c: bool) -> f32[4]
  state: (f32[4], f32[4]) = call cell(x, @w)
  h: f32[4] = state[0]
  if c
    h
  else
    call grow(h, c)
"""

INLINED = """\
entry forward
weight w: f32[4, 4]
weight zero: f32[4]

def forward(instance: (list[f32[4]], bool)) -> f32[4]
  xs: list[f32[4]] = instance[0]
  c: bool = instance[1]
  states: list[(f32[4], f32[4])] = map x: f32[4] in xs
    c_1: f32[4] = linear(x, @w)
    h_1: f32[4] = tanh(c_1)
    state_1: (f32[4], f32[4]) = (h_1, c_1)
    state_1
  total: (f32[4],) = fold state: (f32[4], f32[4]) in states with sum: f32[4] = @zero
    h: f32[4] = state[0]
    next: f32[4] = if c
      result: f32[4] = add(sum, h)
      result
    else
      sum
    (next,)
  last: f32[4] = total[0]
  result_1: f32[4] = call grow(last, c)
  result_1

def grow(x: f32[4], c: bool) -> f32[4]
  c_1: f32[4] = linear(x, @w)
  h_1: f32[4] = tanh(c_1)
  if c
    h_1
  else
    result: f32[4] = call grow(h_1, c)
    result
"""

SPECIALISE = """\
entry forward
weight left: f32[4, 4]
weight right: f32[4, 4]
weight start: f32[4]

def forward(xs: list[f32[4]]) -> (f32[4], f32[4])
  a: f32[4] = call scan(@left, @start, xs)
  b: f32[4] = call scan(@right, @start, xs)
  (a, b)

def scan(w: f32[4, 4], state: f32[4], xs: list[f32[4]]) -> f32[4]
  n: int = host list.len(xs)
  done: bool = host eq(n, 0)
  if done
    state
  else
    x: f32[4] = host list.get(xs, 0)
    rest: list[f32[4]] = host list.slice(xs, 1, n)
    y: f32[4] = linear(x, w)
    new: f32[4] = add(y, state)
    later: f32[4] = call scan(w, new, rest)
    later
"""

SPECIALISED = """\
entry forward
weight left: f32[4, 4]
weight right: f32[4, 4]
weight start: f32[4]

def forward(xs: list[f32[4]]) -> (f32[4], f32[4])
  a: f32[4] = call scan(@start, xs)
  b: f32[4] = call scan_1(@start, xs)
  (a, b)

def scan(state: f32[4], xs: list[f32[4]]) -> f32[4]
  n: int = host list.len(xs)
  done: bool = host eq(n, 0)
  if done
    state
  else
    x: f32[4] = host list.get(xs, 0)
    rest: list[f32[4]] = host list.slice(xs, 1, n)
    y: f32[4] = linear(x, @left)
    new: f32[4] = add(y, state)
    later: f32[4] = call scan(new, rest)
    later

def scan_1(state: f32[4], xs: list[f32[4]]) -> f32[4] from scan
  n: int = host list.len(xs)
  done: bool = host eq(n, 0)
  if done
    state
  else
    x: f32[4] = host list.get(xs, 0)
    rest: list[f32[4]] = host list.slice(xs, 1, n)
    y: f32[4] = linear(x, @right)
    new: f32[4] = add(y, state)
    later: f32[4] = call scan_1(new, rest)
    later
"""

CONSTANTS = """\
entry forward
weight w: f32[4, 4]
weight b: f32[4]

def forward(x: f32[4]) -> f32[4]
  zeros: f32[4] = full(shape=(4,), value=0.0)
  wt: f32[4, 4] = permute(@w, dims=(1, 0))
  half: f32[4] = mul(@b, 0.5)
  y: f32[4] = linear(x, wt, half)
  r: f32[4] = row(@w, 0)
  z: f32[4] = add(r, zeros)
  both: f32[4] = add(y, z)
  both
"""

DERIVED = """\
entry forward
weight w: f32[4, 4]
weight b: f32[4]
weight zeros: f32[4]
weight wt: f32[4, 4]
weight literal: f32[]
weight half: f32[4]
derive zeros = full(shape=(4,), value=0.0)
derive wt = permute(w, dims=(1, 0))
derive literal = full(shape=(), value=0.5)
derive half = mul(b, literal)

def forward(x: f32[4]) -> f32[4]
  y: f32[4] = linear(x, @wt, @half)
  r: f32[4] = row(@w, 0)
  z: f32[4] = add(r, @zeros)
  both: f32[4] = add(y, z)
  both
"""


@pytest.mark.parametrize(
    ("run", "before", "after"),
    [
        pytest.param(inline.run, INLINE, INLINED, id="inline"),
        pytest.param(specialise.run, SPECIALISE, SPECIALISED, id="specialise"),
        pytest.param(lambda p: specialise.run(p, clone=False), SPECIALISE, SPECIALISE, id="specialise off"),
        pytest.param(constants.run, CONSTANTS, DERIVED, id="constants"),
    ],
)
def test_text_before_and_after(run: Callable[[Program], Program], before: str, after: str) -> None:
    program = run(read_program(before))
    verify(program)
    assert print_program(program) == after
    assert print_program(run(program)) == after  # nothing is left to do
