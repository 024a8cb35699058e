"""Loop-invariant products: which work leaves a loop and which stays, and that programs keep their meaning."""

from __future__ import annotations

import numpy as np

from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.passes import invariants
from backends.acrobat.passes.tests.test_tables import assert_equal
from backends.acrobat.passes.tests.texts import after, assert_makes

LOOPS = """\
entry forward
weight W: f32[2, 4]
weight b: f32[2]
weight V: f32[2, 2]

def forward(x: (f32[2], list[f32[2]], int)) -> (f32[2], f32[2])
  start: f32[2] = x[0]
  xs: list[f32[2]] = x[1]
  n: int = x[2]
  scan: (f32[2],) = fold y: f32[2] in xs with a: f32[2] = start
    half: f32[2] = mul(start, 0.5)
    whole: f32[2] = linear(half, @V)
    gate: f32[2] = sigmoid(whole)
    twice: f32[2] = mul(start, 2.0)
    cat: f32[4] = cat(a, start, dim=0)
    next: f32[2] = linear(cat, @W, @b)
    gated: f32[2] = mul(next, gate)
    moved: f32[2] = add(gated, twice)
    (moved,)
  a_1: f32[2] = scan[0]
  outer: (f32[2], int) = loop with c: f32[2] = start, i: int = 0
  while
    more: bool = host lt(i, n)
    more
  do
    inner: (f32[2],) = fold z: f32[2] in xs with d: f32[2] = c
      both: f32[2] = linear(start, @V)
      e: f32[2] = mul(d, both)
      (e,)
    d_1: f32[2] = inner[0]
    i_1: int = host add(i, 1)
    (d_1, i_1)
  c_1: f32[2] = outer[0]
  (a_1, c_1)
"""

BRANCHES = """\
entry forward
weight V: f32[2, 2]

def forward(x: (f32[2], list[bool])) -> (f32[2], bool, f32[2])
  start: f32[2] = x[0]
  flags: list[bool] = x[1]
  scan: (f32[2], bool, f32[2]) = fold flag: bool in flags with a: f32[2] = start, done: bool = False, c: f32[2] = start
    chosen: (f32[2], bool, f32[2]) = if done
      never: f32[2] = linear(start, @V)
      none: (f32[2], bool, f32[2]) = (never, done, c)
      none
    else
      first: f32[2] = linear(start, @V)
      next: f32[2] = mul(first, a)
      either: f32[2] = if flag
        perhaps: f32[2] = linear(start, @V)
        perhaps
      else
        c
      some: (f32[2], bool, f32[2]) = (next, flag, either)
      some
    chosen
  scan
"""

TAKEN = """\
entry forward
weight V: f32[2, 2]

def forward(x: (f32[2], list[bool])) -> (f32[2], bool, f32[2])
  start: f32[2] = x[0]
  flags: list[bool] = x[1]
  first: f32[2] = linear(start, @V)
  scan: (f32[2], bool, f32[2]) = fold flag: bool in flags with a: f32[2] = start, done: bool = False, c: f32[2] = start
    chosen: (f32[2], bool, f32[2]) = if done
      never: f32[2] = linear(start, @V)
      none: (f32[2], bool, f32[2]) = (never, done, c)
      none
    else
      next: f32[2] = mul(first, a)
      either: f32[2] = if flag
        perhaps: f32[2] = linear(start, @V)
        perhaps
      else
        c
      some: (f32[2], bool, f32[2]) = (next, flag, either)
      some
    chosen
  scan
"""

MOVED = """\
entry forward
weight W: f32[2, 4]
weight b: f32[2]
weight V: f32[2, 2]
weight "W[2:4]": f32[2, 2]
weight "W[0:2]": f32[2, 2]
derive "W[2:4]" = slice(W, dim=1, start=2, stop=4)
derive "W[0:2]" = slice(W, dim=1, start=0, stop=2)

def forward(x: (f32[2], list[f32[2]], int)) -> (f32[2], f32[2])
  start: f32[2] = x[0]
  xs: list[f32[2]] = x[1]
  n: int = x[2]
  half: f32[2] = mul(start, 0.5)
  whole: f32[2] = linear(half, @V)
  gate: f32[2] = sigmoid(whole)
  invariant: f32[2] = linear(start, @"W[2:4]", @b)
  scan: (f32[2],) = fold y: f32[2] in xs with a: f32[2] = start
    twice: f32[2] = mul(start, 2.0)
    product: f32[2] = linear(a, @"W[0:2]")
    next: f32[2] = add(product, invariant)
    gated: f32[2] = mul(next, gate)
    moved: f32[2] = add(gated, twice)
    (moved,)
  a_1: f32[2] = scan[0]
  both: f32[2] = linear(start, @V)
  outer: (f32[2], int) = loop with c: f32[2] = start, i: int = 0
  while
    more: bool = host lt(i, n)
    more
  do
    inner: (f32[2],) = fold z: f32[2] in xs with d: f32[2] = c
      e: f32[2] = mul(d, both)
      (e,)
    d_1: f32[2] = inner[0]
    i_1: int = host add(i, 1)
    (d_1, i_1)
  c_1: f32[2] = outer[0]
  (a_1, c_1)
"""


def test_products_leave_with_what_leads_to_them_and_follows_from_them() -> None:
    """Only `twice` stays, which costs nothing in the kernel that it joins. `both` leaves the inner and the outer loop."""
    assert_makes(LOOPS, MOVED, invariants.run)


def test_only_the_branch_of_the_first_round_is_left() -> None:
    assert_makes(BRANCHES, TAKEN, invariants.run)


def test_meaning() -> None:
    random = np.random.default_rng(0)
    start = random.normal(size=2)
    for text, instances in (
        (LOOPS, [(start, [], 0), (start, [start], 0), (start, [start, -start], 3)]),
        (BRANCHES, [(start, []), (start, [True]), (start, [False, False, True, False])]),
    ):
        before, made = after(text), after(text, invariants.run)
        values = {name: random.normal(size=t.shape) for name, t in before.weights.items()}
        for instance in instances:
            want, got = (Interpreter(p, values).run(instance) for p in (before, made))
            assert_equal(got, want)
