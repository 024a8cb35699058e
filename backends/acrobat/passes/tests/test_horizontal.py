"""Which products are packed into one, and with what weights."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.nodes import Op, Program
from backends.acrobat.ir.visitor import walk
from backends.acrobat.passes import horizontal
from backends.acrobat.passes.tests.texts import after, assert_makes

BEFORE = """\
entry forward
weight wi: f32[4, 4]
weight wf: f32[4, 4]
weight wx: f32[4, 4]
weight wy: f32[4, 4]
weight bf: f32[4]
weight by: f32[4]
weight bx: f32[4]
weight small: f32[1, 4]

def forward(instance: (f32[4], f32[4])) -> (f32[4], f32[4], f32[4], f32[1], f32[4])
  x: f32[4] = instance[0]
  y: f32[4] = instance[1]
  i: f32[4] = linear(x, @wi)
  t: f32[4] = tanh(i)
  f: f32[4] = linear(x, @wf, @bf)
  score: f32[1] = linear(y, @small)
  later: f32[4] = linear(y, @wi)
  deeper: f32[4] = linear(later, @wf)
  left: f32[4] = linear(x, @wx, @bx)
  right: f32[4] = linear(t, @wy, @by)
  sum: f32[4] = add(left, right)
  (t, f, deeper, score, sum)
"""

AFTER = """\
entry forward
weight wi: f32[4, 4]
weight wf: f32[4, 4]
weight wx: f32[4, 4]
weight wy: f32[4, 4]
weight bf: f32[4]
weight by: f32[4]
weight bx: f32[4]
weight small: f32[1, 4]
weight "wx+wy": f32[4, 8]
weight "bx+by": f32[4]
weight "wi+wf": f32[8, 4]
weight zeros: f32[4]
weight "zeros+bf": f32[8]
derive "wx+wy" = cat(wx, wy, dim=1)
derive "bx+by" = add(bx, by)
derive "wi+wf" = cat(wi, wf, dim=0)
derive zeros = full(shape=(4,), value=0.0)
derive "zeros+bf" = cat(zeros, bf, dim=0)

def forward(instance: (f32[4], f32[4])) -> (f32[4], f32[4], f32[4], f32[1], f32[4])
  x: f32[4] = instance[0]
  y: f32[4] = instance[1]
  packed: f32[8] = linear(x, @"wi+wf", @"zeros+bf")
  i: f32[4] = slice(packed, dim=0, start=0, stop=4)
  f: f32[4] = slice(packed, dim=0, start=4, stop=8)
  t: f32[4] = tanh(i)
  score: f32[1] = linear(y, @small)
  later: f32[4] = linear(y, @wi)
  deeper: f32[4] = linear(later, @wf)
  both: f32[8] = cat(x, t, dim=0)
  sum: f32[4] = linear(both, @"wx+wy", @"bx+by")
  (t, f, deeper, score, sum)
"""

LOOP = """\
entry forward
weight w: f32[4, 4]
weight u: f32[4, 4]
weight start: f32[4]

def forward(xs: list[f32[4]]) -> f32[4]
  run: (f32[4],) = fold x: f32[4] in xs with h: f32[4] = @start
    left: f32[4] = linear(x, @w)
    right: f32[4] = linear(h, @u)
    sum: f32[4] = add(left, right)
    next: f32[4] = tanh(sum)
    (next,)
  last: f32[4] = run[0]
  last
"""

SIBLINGS = """\
entry forward
weight w: f32[WIDE, 4]
weight u: f32[NARROW, 4]

def forward(x: f32[4]) -> (f32[WIDE], f32[NARROW])
  a: f32[WIDE] = linear(x, @w)
  b: f32[NARROW] = linear(x, @u)
  (a, b)
"""


def products(program: Program) -> list[int]:
    """The number of columns of each product."""
    nodes = [node for f in program.functions.values() for node in walk(f.body) if isinstance(node, Op)]
    return [node.args[1].type.shape[0] for node in nodes if node.op == "linear"]  # type: ignore[union-attr]


def test_gates_and_sums_of_products() -> None:
    """Products that need each other must not be packed: `right` depends on `i` by way of `t`, and `deeper` on `later`."""
    assert_makes(BEFORE, AFTER, horizontal.run)


def test_meaning() -> None:
    random = np.random.default_rng(0)
    before = after(BEFORE)
    values = {name: random.standard_normal(t.shape) for name, t in before.weights.items()}
    instance = (random.standard_normal(4), random.standard_normal(4))
    old, new = Interpreter(before, values).run(instance), Interpreter(after(BEFORE, horizontal.run), values).run(instance)
    for x, y in zip(old, new, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def test_a_hoisted_product_stays_apart_from_one_in_the_recurrence() -> None:
    assert_makes(LOOP, LOOP, horizontal.run)
    assert products(after(LOOP, partial(horizontal.run, hoist=False))) == [4]


def test_a_sum_of_products_of_one_input_adds_the_weights() -> None:
    program = after(LOOP.replace("linear(x, @w)", "linear(h, @w)"), horizontal.run)
    assert [d.op for d in program.derived.values()] == ["add"]
    assert products(program) == [4]


@pytest.mark.parametrize(
    ("wide", "narrow", "packed"),
    [(32, 32, [64]), (64, 32, [96]), (32, 2, [32, 2]), (48, 32, [48, 32]), (512, 32, [512, 32]), (3, 3, [6])],
)
def test_only_equal_groups_of_columns_are_packed(wide: int, narrow: int, packed: list[int]) -> None:
    text = SIBLINGS.replace("WIDE", str(wide)).replace("NARROW", str(narrow))
    assert products(after(text, horizontal.run)) == packed


def test_rows_keep_their_leading_extent() -> None:
    text = SIBLINGS.replace("WIDE", "32").replace("NARROW", "32").replace("x: f32[4]", "x: f32[7, 4]")
    text = text.replace("-> (f32[32], f32[32])", "-> (f32[7, 32], f32[7, 32])").replace(": f32[32] =", ": f32[7, 32] =")
    program = after(text, horizontal.run)
    nodes = [node for node in walk(program.functions["forward"].body) if isinstance(node, Op)]
    assert [node.attrs[0] for node in nodes if node.op == "slice"] == [("dim", 1), ("dim", 1)]
