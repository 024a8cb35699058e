"""Simplification: programs as text before and after it."""

from __future__ import annotations

import numpy as np
import pytest

from backends.acrobat.core.types import ListT, TensorT
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.nodes import Map, Var
from backends.acrobat.ir.printer import print_program
from backends.acrobat.passes import simplify
from backends.acrobat.passes.tests.texts import after, assert_makes
from backends.acrobat.passes.up_to_names import same

BEFORE = """\
entry forward
weight w: f32[8, 4]
weight b: f32[8]

def forward(instance: (f32[4], f32[4], list[f32[4]])) -> (f32[8], f32[4], list[f32[4]], f32[4], list[f32[4]], f32[4])
  x: f32[4] = instance[0]
  y: f32[4] = instance[1]
  xs: list[f32[4]] = instance[2]
  product: f32[8] = linear(x, @w)
  biased: f32[8] = add(@b, product)
  two: list[f32[4]] = [x, y] as list[f32[4]]
  second: f32[4] = host list.get(two, -1)
  total: f32[4] = list_sum(two, nonempty=True)
  out: f32[4] = mul(second, total)
  activated: list[f32[4]] = map e: f32[4] in xs
    a: f32[4] = tanh(e)
    a
  pairs: list[(f32[4], f32[4])] = map g: f32[4] in activated
    s: f32[4] = sigmoid(g)
    (g, s)
  products: list[f32[4]] = map p: (f32[4], f32[4]) in pairs
    left: f32[4] = p[0]
    right: f32[4] = p[1]
    m: f32[4] = mul(left, right)
    m
  once: f32[4] = tanh(y)
  again: f32[4] = tanh(y)
  sum: f32[4] = add(once, again)
  heads: list[f32[4]] = map h: f32[4] in xs
    k: f32[4] = relu(h)
    k
  deep: list[f32[4]] = map q: f32[4] in heads
    r: f32[4] = call twice(q, True)
    r
  tails: list[f32[4]] = map u: f32[4] in deep
    v: f32[4] = relu(u)
    v
  tail: f32[4] = list_sum(tails, nonempty=False)
  unused: f32[4] = exp(tail)
  (biased, out, products, sum, tails, tail)

def twice(z: f32[4], c: bool) -> f32[4]
  if c
    once: f32[4] = add(z, z)
    more: f32[4] = call twice(once, False)
    more
  else
    z
"""

AFTER = """\
entry forward
weight w: f32[8, 4]
weight b: f32[8]

def forward(instance: (f32[4], f32[4], list[f32[4]])) -> (f32[8], f32[4], list[f32[4]], f32[4], list[f32[4]], f32[4])
  x: f32[4] = instance[0]
  y: f32[4] = instance[1]
  xs: list[f32[4]] = instance[2]
  biased: f32[8] = linear(x, @w, @b)
  total: f32[4] = add(x, y)
  out: f32[4] = mul(y, total)
  products: list[f32[4]] = map e: f32[4] in xs
    a: f32[4] = tanh(e)
    s: f32[4] = sigmoid(a)
    m: f32[4] = mul(a, s)
    m
  once: f32[4] = tanh(y)
  sum: f32[4] = add(once, once)
  deep: list[f32[4]] = map h: f32[4] in xs
    k: f32[4] = relu(h)
    r: f32[4] = call twice(k, True)
    r
  tails: list[f32[4]] = map u: f32[4] in deep
    v: f32[4] = relu(u)
    v
  tail: f32[4] = list_sum(tails, nonempty=False)
  (biased, out, products, sum, tails, tail)

def twice(z: f32[4], c: bool) -> f32[4]
  if c
    once: f32[4] = add(z, z)
    more: f32[4] = call twice(once, False)
    more
  else
    z
"""


def test_bias_known_lists_repeated_work_and_lists_mapped_twice() -> None:
    assert_makes(BEFORE, AFTER, simplify.run)


def test_a_second_run_changes_nothing() -> None:
    assert_makes(AFTER, AFTER, simplify.run)


TWICE = """\
entry forward

def forward(xs: list[int]) -> (list[int], list[int], list[int])
  one: list[int] = map a: int in xs
    b: int = host add(a, 1)
    b
  c: list[int] = map d: int in one
    e: int = host mul(d, 2)
    e
  two: list[int] = map f: int in xs
    g: int = host add(f, 1)
    g
  h: list[int] = map i: int in two
    j: int = host mul(i, 3)
    j
  three: list[int] = map k: int in xs
    l: int = host add(k, 1)
    l
  m: list[int] = map n: int in three
    o: int = host mul(n, 3)
    o
  (c, h, m)
"""
ONCE = """\
entry forward

def forward(xs: list[int]) -> (list[int], list[int], list[int])
  c: list[int] = map a: int in xs
    b: int = host add(a, 1)
    e: int = host mul(b, 2)
    e
  h: list[int] = map f: int in xs
    g: int = host add(f, 1)
    j: int = host mul(g, 3)
    j
  (c, h, h)
"""


SHARED = """\
entry forward

def forward(xs: list[int]) -> (list[int], list[int])
  one: list[int] = map a: int in xs
    b: int = host add(a, 1)
    b
  two: list[int] = map f: int in xs
    g: int = host add(f, 1)
    g
  c: list[int] = map d: int in one
    e: int = host mul(d, 2)
    e
  h: list[int] = map i: int in two
    j: int = host mul(i, 3)
    j
  (c, h)
"""


def test_what_has_joined_its_only_use_is_not_there_for_others() -> None:
    assert_makes(TWICE, ONCE, simplify.run)


def test_what_stands_for_two_has_the_uses_of_both() -> None:
    lines = SHARED.splitlines(keepends=True)
    assert_makes(SHARED, "".join(lines[:6] + lines[9:]).replace("in two", "in one"), simplify.run)


ZIPPED = """\
entry forward
weight w: f32[4, 4]

def forward(xs: list[f32[4]]) -> list[f32[4]]
  products: list[f32[4]] = map x: f32[4] in xs
    product: f32[4] = linear(x, @w)
    product
  pairs: list[(f32[4], f32[4])] = host zip(products, xs)
  sums: list[f32[4]] = map pair: (f32[4], f32[4]) in pairs
    a: f32[4] = pair[0]
    b: f32[4] = pair[1]
    sum: f32[4] = add(a, b)
    sum
  shown: list[f32[4]] = map y: f32[4] in sums
    r: f32[4] = relu(y)
    r
  more: list[(f32[4], f32[4])] = host zip(sums, shown)
  results: list[f32[4]] = map z: (f32[4], f32[4]) in more
    c: f32[4] = z[0]
    d: f32[4] = z[1]
    e: f32[4] = mul(c, d)
    e
  results
"""

JOINED = """\
entry forward
weight w: f32[4, 4]

def forward(xs: list[f32[4]]) -> list[f32[4]]
  results: list[f32[4]] = map pair_1: f32[4] in xs
    product: f32[4] = linear(pair_1, @w)
    sum: f32[4] = add(product, pair_1)
    r: f32[4] = relu(sum)
    e: f32[4] = mul(sum, r)
    e
  results
"""


def test_maps_over_a_zip_of_one_list_are_one_map() -> None:
    assert_makes(ZIPPED, ZIPPED, simplify.run)  # `segments` looks for zips
    assert_makes(ZIPPED, JOINED, simplify.join_zipped)
    assert_makes(JOINED, JOINED, simplify.join_zipped)


def test_joined_maps_compute_the_same() -> None:
    random = np.random.default_rng(0)
    values = {"w": random.standard_normal((4, 4))}
    for length in (0, 1, 5):
        xs = [random.standard_normal(4) for _ in range(length)]
        before, joined = (Interpreter(after(text), values).run(xs) for text in (ZIPPED, JOINED))
        assert len(before) == len(joined) == length
        for one, other in zip(before, joined, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("host zip(products, xs)", "host zip(products, ys)", id="lists that may differ in length"),
        pytest.param(
            "  results\n",
            "  many: list[list[f32[4]]] = [results, products] as list[list[f32[4]]]\n  many\n",
            id="a map that is used elsewhere",
        ),
        pytest.param("    product\n", "    again: f32[4] = call forth(product, True)\n    again\n", id="a map that calls"),
        pytest.param("    sum\n", "    again: f32[4] = call forth(sum, True)\n    again\n", id="a loop that calls"),
    ],
)
def test_a_zip_stays_where_its_maps_cannot_be_one(old: str, new: str) -> None:
    """Lists of other lengths would lose items later than before; what is used twice would be computed twice; and calls need not
    have one depth for all items."""
    text = ZIPPED.replace(old, new).replace("(xs: list[f32[4]])", "(both: (list[f32[4]], list[f32[4]]))")
    text = text.replace("  products:", "  xs: list[f32[4]] = both[0]\n  ys: list[f32[4]] = both[1]\n  products:", 1)
    if "call" in new:
        text += FORTH
    if "many" in new:
        text = text.replace("-> list[f32[4]]", "-> list[list[f32[4]]]")
    program = after(text, simplify.join_zipped)
    assert "host zip(products, " in print_program(program)


FORTH = """
def forth(z: f32[4], c: bool) -> f32[4]
  if c
    once: f32[4] = add(z, z)
    more: f32[4] = call forth(once, False)
    more
  else
    z
"""


def test_expressions_that_differ_in_bound_names_only_are_the_same() -> None:
    t = TensorT((4,))

    def mapped(name: str, over: str, result: str) -> Map:
        return Map(Var(name, t), Var(over, ListT(t)), Var(result, t), ListT(t))

    assert same(mapped("x", "xs", "x"), mapped("state", "xs", "state"))
    assert not same(mapped("x", "xs", "x"), mapped("x", "ys", "x"))
    assert not same(mapped("x", "xs", "x"), mapped("x", "xs", "other"))
