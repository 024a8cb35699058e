"""Products of rows of weights: which become lookups, of which only a part does, and which stay."""

from __future__ import annotations

from typing import Any

import numpy as np

from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.passes import constants, tables
from backends.acrobat.passes.tests.texts import after, assert_makes

RNN = """\
entry forward
weight E: f32[5, 3]
weight start: f32[2]
weight W: f32[2, 5]
weight b: f32[2]
weight head: f32[4, 3]

def forward(words: list[int]) -> (f32[2], list[f32[4]])
  rows: list[f32[3]] = map word: int in words
    row: f32[3] = row(@E, word)
    row
  scan: (f32[2],) = fold x: f32[3] in rows with state: f32[2] = @start
    cat: f32[5] = cat(x, state, dim=0)
    step: f32[2] = linear(cat, @W, @b)
    (step,)
  last: f32[2] = scan[0]
  heads: list[f32[4]] = map y: f32[3] in rows
    out: f32[4] = linear(y, @head)
    out
  (last, heads)
"""

LOOKED_UP = """\
entry forward
weight E: f32[5, 3]
weight start: f32[2]
weight W: f32[2, 5]
weight b: f32[2]
weight head: f32[4, 3]
weight "W[0:3]": f32[2, 3]
weight "E*": f32[5, 2]
weight "W[3:5]": f32[2, 2]
weight "E*_1": f32[5, 4]
derive "W[0:3]" = slice(W, dim=1, start=0, stop=3)
derive "E*" = linear(E, "W[0:3]")
derive "W[3:5]" = slice(W, dim=1, start=3, stop=5)
derive "E*_1" = linear(E, head)

def forward(words: list[int]) -> (f32[2], list[f32[4]])
  rows: list[f32[3]] = map word: int in words
    row: f32[3] = row(@E, word)
    row
  scan: (f32[2],) = fold x: f32[3] in rows with state: f32[2] = @start
    projected: f32[2] = lookup(x, @E, @"E*")
    product: f32[2] = linear(state, @"W[3:5]", @b)
    step: f32[2] = add(product, projected)
    (step,)
  last: f32[2] = scan[0]
  heads: list[f32[4]] = map y: f32[3] in rows
    projected_1: f32[4] = lookup(y, @E, @"E*_1")
    projected_1
  (last, heads)
"""

KNOWN = """\
entry forward
weight actions: f32[2, 3]
weight start: f32[2]
weight W: f32[4, 5]
weight U: f32[4, 5]
weight b: f32[4]

def forward(x: f32[2]) -> (f32[4], f32[4])
  action: f32[3] = index(@actions, dim=0, i=1)
  cat: f32[5] = cat(action, x, dim=0)
  moved: f32[4] = linear(cat, @W, @b)
  zeros: f32[3] = full(shape=(3,), value=0.0)
  cat_1: f32[5] = cat(zeros, x, dim=0)
  first: f32[4] = linear(cat_1, @U, @b)
  (moved, first)
"""

SHARED = """\
entry forward
weight actions: f32[2, 3]
weight W: f32[4, 5]
weight U: f32[4, 5]
weight b: f32[4]
weight zeros: f32[3]
weight "W[0:3]": f32[4, 3]
weight "actions*": f32[2, 4]
weight "W[3:5]": f32[4, 2]
weight "U[0:3]": f32[4, 3]
weight "zeros*": f32[4]
weight "b+zeros*": f32[4]
weight "U[3:5]": f32[4, 2]
derive zeros = full(shape=(3,), value=0.0)
derive "W[0:3]" = slice(W, dim=1, start=0, stop=3)
derive "actions*" = linear(actions, "W[0:3]")
derive "W[3:5]" = slice(W, dim=1, start=3, stop=5)
derive "U[0:3]" = slice(U, dim=1, start=0, stop=3)
derive "zeros*" = linear(zeros, "U[0:3]")
derive "b+zeros*" = add(b, "zeros*")
derive "U[3:5]" = slice(U, dim=1, start=3, stop=5)

def forward(x: f32[2]) -> (f32[4], f32[4])
  projected: f32[4] = row(@"actions*", 1)
  product: f32[4] = linear(x, @"W[3:5]", @b)
  moved: f32[4] = add(product, projected)
  first: f32[4] = linear(x, @"U[3:5]", @"b+zeros*")
  (moved, first)
"""

STAYS = """\
entry forward
weight E: f32[5, 3]
weight F: f32[5, 3]
weight W: f32[2, 3]

def forward(numbers: (int, bool, f32[3])) -> (f32[2], f32[2], f32[2])
  word: int = numbers[0]
  which: bool = numbers[1]
  x: f32[3] = numbers[2]
  one: f32[3] = row(@E, word)
  either: f32[3] = if which
    one
  else
    x
  a: f32[2] = linear(either, @W)
  other: f32[3] = row(@F, word)
  table: f32[3] = if which
    one
  else
    other
  b: f32[2] = linear(table, @W)
  c: f32[2] = linear(x, @W)
  (a, b, c)
"""


def test_a_rows_share_is_looked_up_also_through_lists_and_loops() -> None:
    assert_makes(RNN, LOOKED_UP, tables.run)


def test_a_numbered_row_stays_a_row_and_a_constants_share_joins_the_bias() -> None:
    assert_makes(KNOWN, SHARED, constants.run, tables.run)


def test_what_may_be_something_else_or_a_row_of_another_table_stays() -> None:
    assert_makes(STAYS, STAYS, tables.run)


def test_a_table_that_would_be_too_large_is_not_made(monkeypatch) -> None:
    monkeypatch.setattr(tables, "MAX_ELEMENTS", 5 * 2)
    text = str(after(RNN, tables.run).functions)
    assert "E*" in text and "E*_1" not in text


def test_meaning() -> None:
    random = np.random.default_rng(0)
    for text, passes, instance in (
        (RNN, (tables.run,), [4, 0, -1, 2]),
        (RNN, (tables.run,), []),
        (KNOWN, (constants.run, tables.run), random.normal(size=2)),
    ):
        before, made = after(text), after(text, *passes)
        values = {name: random.normal(size=t.shape) for name, t in before.weights.items()}
        want, got = (Interpreter(p, values).run(instance) for p in (before, made))
        assert_equal(got, want)


def assert_equal(got: Any, want: Any) -> None:
    if isinstance(want, list | tuple):
        assert isinstance(got, list | tuple) and len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            assert_equal(g, w)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-12)
