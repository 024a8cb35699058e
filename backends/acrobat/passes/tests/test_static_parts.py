"""Static parts of products: which products of loops and recursions are split, and that programs keep their meaning."""

from __future__ import annotations

import numpy as np

from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.printer import print_program
from backends.acrobat.passes import static_parts
from backends.acrobat.passes.tests.test_tables import assert_equal
from backends.acrobat.passes.tests.texts import after, assert_makes

HEAD = """\
entry forward
weight E: f32[3, 2]
weight W: f32[2, 4]
weight b: f32[2]
"""

SCAN = """
def forward(x: (f32[2], list[int])) -> (f32[2], f32[2])
  start: f32[2] = x[0]
  words: list[int] = x[1]
  scan: (f32[2],) = fold word: int in words with h: f32[2] = start
    row: f32[2] = row(@E, word)
    both: f32[4] = cat(row, h, dim=0)
    next: f32[2] = linear(both, @W, @b)
    (next,)
  last: f32[2] = scan[0]
  pair: f32[4] = cat(start, last, dim=0)
  once: f32[2] = linear(pair, @W, @b)
  (last, once)
"""

SPLIT = """\
weight "W[0:2]": f32[2, 2]
weight "W[2:4]": f32[2, 2]
derive "W[0:2]" = slice(W, dim=1, start=0, stop=2)
derive "W[2:4]" = slice(W, dim=1, start=2, stop=4)

def forward(x: (f32[2], list[int])) -> (f32[2], f32[2])
  start: f32[2] = x[0]
  words: list[int] = x[1]
  scan: (f32[2],) = fold word: int in words with h: f32[2] = start
    row: f32[2] = row(@E, word)
    share: f32[2] = linear(row, @"W[0:2]", @b)
    product: f32[2] = linear(h, @"W[2:4]")
    next: f32[2] = add(product, share)
    (next,)
  last: f32[2] = scan[0]
  pair: f32[4] = cat(start, last, dim=0)
  once: f32[2] = linear(pair, @W, @b)
  (last, once)
"""

RECURSION = """
def forward(x: (f32[2], int)) -> f32[2]
  start: f32[2] = x[0]
  n: int = x[1]
  out: f32[2] = call down(start, n)
  out

def down(start: f32[2], n: int) -> f32[2]
  more: bool = host lt(0, n)
  if more
    m: int = host sub(n, 1)
    below: f32[2] = call down(start, m)
    both: f32[4] = cat(start, below, dim=0)
    h: f32[2] = linear(both, @W, @b)
    h
  else
    start
"""


def test_the_product_of_a_loop_is_split_and_that_after_it_stays() -> None:
    assert_makes(HEAD + SCAN, HEAD + SPLIT, static_parts.run)


def test_the_product_of_a_recursion_is_split() -> None:
    text = print_program(after(HEAD + RECURSION, static_parts.run))
    assert "share" in text and "both" not in text


def test_parts_that_are_all_dynamic_stay_together() -> None:
    changing = SCAN.replace("cat(row, h, dim=0)", "cat(h, h, dim=0)").replace("    row: f32[2] = row(@E, word)\n", "")
    head = HEAD.replace("weight E: f32[3, 2]\n", "")
    assert_makes(head + changing, head + changing, static_parts.run)


def test_meaning() -> None:
    random = np.random.default_rng(0)
    start = random.normal(size=2)
    for text, instances in (
        (HEAD + SCAN, [(start, []), (start, [2]), (start, [0, 1, 2, 1])]),
        (HEAD + RECURSION, [(start, 0), (start, 3)]),
    ):
        before, made = after(text), after(text, static_parts.run)
        values = {name: random.normal(size=t.shape) for name, t in before.weights.items()}
        for instance in instances:
            want, got = (Interpreter(p, values).run(instance) for p in (before, made))
            assert_equal(got, want)
