"""Which kernels become one static block."""

from __future__ import annotations

from functools import partial

import numpy as np

from backends.acrobat.core.units import Block
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.nodes import Launch, Let, Map, Program
from backends.acrobat.ir.tests.reader import read_program
from backends.acrobat.ir.verifier import verify
from backends.acrobat.ir.visitor import walk, works
from backends.acrobat.passes import coarsen, inline, vertical
from backends.acrobat.passes.tests.texts import after, assert_makes

BEFORE = """\
entry forward
weight w: f32[4, 4]
weight u: f32[4, 4]

def forward(instance: (f32[8], list[(f32[4], f32[4])], bool)) -> (f32[4], f32[4], f32[4])
  x: f32[8] = instance[0]
  states: list[(f32[4], f32[4])] = instance[1]
  c: bool = instance[2]
  hs: list[f32[4]] = map state: (f32[4], f32[4]) in states
    h: f32[4] = state[0]
    h
  total: f32[4] = list_sum(hs, nonempty=True)
  gated: list[f32[4]] = map s: (f32[4], f32[4]) in states
    h_1: f32[4] = s[0]
    c_1: f32[4] = s[1]
    g: f32[4] = linear(h_1, @w)
    g_1: f32[4] = sigmoid(g)
    p: f32[4] = linear(g_1, @u)
    m: f32[4] = mul(p, c_1)
    m
  product: f32[4] = linear(total, @u)
  sum: f32[4] = list_sum(gated, nonempty=False)
  out: f32[4] = add(product, sum)
  called: f32[4] = call work(out, c)
  after: f32[4] = linear(called, @w)
  soft: f32[4] = softmax(after, dim=0)
  wide: f32[8] = exp(x)
  part: f32[4] = slice(wide, dim=0, start=4, stop=8)
  most: f32[4] = softmax(part, dim=0)
  (out, soft, most)

def work(x: f32[4], c: bool) -> f32[4]
  if c
    more: f32[4] = tanh(x)
    again: f32[4] = call work(more, False)
    again
  else
    x
"""

AFTER = """\
entry forward
weight w: f32[4, 4]
weight u: f32[4, 4]

kernel forward_total(hs: list f32[4])
  total: f32[4] = list_sum(hs, nonempty=True)
  return total

kernel forward_g(h_1: gathered f32[4], w: shared f32[4, 4])
  g: f32[4] = linear(h_1, w)
  g_1: f32[4] = sigmoid(g)
  return g_1

kernel forward_m(g_1: gathered f32[4], u: shared f32[4, 4], c_1: gathered f32[4])
  p: f32[4] = linear(g_1, u)
  m: f32[4] = mul(p, c_1)
  return m

kernel forward_out(total: gathered f32[4], u: shared f32[4, 4], gated: list f32[4])
  product: f32[4] = linear(total, u)
  sum: f32[4] = list_sum(gated, nonempty=False)
  out: f32[4] = add(product, sum)
  return out

kernel forward_part(x: gathered f32[8])
  wide: f32[8] = exp(x)
  part: f32[4] = slice(wide, dim=0, start=4, stop=8)
  return part

kernel forward_soft(after: gathered f32[4])
  soft: f32[4] = softmax(after, dim=0)
  return soft

block forward_out_most(hs: list f32[4], w: shared f32[4, 4], u: shared f32[4, 4], c_2: list f32[4], x: gathered f32[8])
  groups hs: hs, c_2: hs
  forward_total(hs)
  forward_g(hs, w) over hs
  forward_m(1.0, u, c_2) over hs
  forward_out(0.0, u, 2.0)
  forward_part(x)
  forward_soft(4.0)
  return 3.0, 5.0

kernel forward_after(called: gathered f32[4], w: shared f32[4, 4])
  after: f32[4] = linear(called, w)
  return after

block forward_soft_1(called: gathered f32[4], w: shared f32[4, 4])
  forward_after(called, w)
  forward_soft(0.0)
  return 1.0

kernel work_more(x: gathered f32[4])
  more: f32[4] = tanh(x)
  return more

def forward(instance: (f32[8], list[(f32[4], f32[4])], bool)) -> (f32[4], f32[4], f32[4])
  x: f32[8] = instance[0]
  states: list[(f32[4], f32[4])] = instance[1]
  c: bool = instance[2]
  hs: list[f32[4]] = map state: (f32[4], f32[4]) in states
    h: f32[4] = state[0]
    h
  c_2: list[f32[4]] = map s_1: (f32[4], f32[4]) in states
    c_3: f32[4] = s_1[1]
    c_3
  out_most: (f32[4], f32[4]) = launch forward_out_most(hs, @w, @u, c_2, x)
  out: f32[4] = out_most[0]
  most: f32[4] = out_most[1]
  called: f32[4] = call work(out, c)
  soft: f32[4] = launch forward_soft_1(called, @w)
  (out, soft, most)

def work(x: f32[4], c: bool) -> f32[4]
  if c
    more: f32[4] = launch work_more(x)
    again: f32[4] = call work(more, False)
    again
  else
    x
"""


INDEPENDENT = """\
entry forward
weight w: f32[4, 4]

def forward(instance: (f32[4], f32[4], bool)) -> (f32[4], f32[4])
  x: f32[4] = instance[0]
  y: f32[4] = instance[1]
  c: bool = instance[2]
  slow: f32[4] = call work(y, c)
  a: f32[4] = linear(x, @w)
  b: f32[4] = linear(slow, @w)
  early: f32[4] = call work(a, c)
  (b, early)

def work(x: f32[4], c: bool) -> f32[4]
  if c
    more: f32[4] = tanh(x)
    again: f32[4] = call work(more, False)
    again
  else
    x
"""


def blocks(program: Program) -> list[list[str]]:
    """The names of the kernels of each unit that is launched, in program order."""
    units = [node.unit for f in program.functions.values() for node in walk(f.body) if isinstance(node, Launch)]
    return [[s.kernel.name for s in unit.steps] if isinstance(unit, Block) else [unit.name] for unit in units]


def fused(text: str, hoist: bool = True) -> Program:
    return after(text, partial(vertical.run, hoist=hoist), partial(coarsen.run, hoist=hoist))


def test_a_straight_line_with_a_map_is_one_block() -> None:
    """The call of `work` ends the block. Each tensor that the host reads from the items of `states` becomes a list operand; of
    these, `hs` is in the program already, and `c_2` is new."""
    assert_makes(BEFORE, AFTER, vertical.run, coarsen.run)


def test_meaning() -> None:
    random = np.random.default_rng(0)
    before, new = after(BEFORE), fused(BEFORE)
    values = {name: random.standard_normal(t.shape) for name, t in before.weights.items()}
    for count in (1, 3):
        states = [(random.standard_normal(4), random.standard_normal(4)) for _ in range(count)]
        instance = (random.standard_normal(8), states, True)
        expected = Interpreter(before, values).run(instance)
        for x, y in zip(expected, Interpreter(new, values).run(instance), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def test_a_map_whose_items_go_elsewhere_stays() -> None:
    text = BEFORE.replace("(f32[4], f32[4], f32[4])\n", "(f32[4], f32[4], list[f32[4]])\n", 1)
    text = text.replace("soft, most)", "soft, gated)")
    program = fused(text)
    (inner,) = [node for node in walk(program.functions["forward"].body) if isinstance(node, Map) and works(node)]
    assert blocks(program)[:2] == [["forward_g", "forward_m"], ["forward_total", "forward_out"]]
    assert isinstance(inner.body, Let)


def test_a_second_run_changes_nothing() -> None:
    program = fused(BEFORE)
    assert coarsen.run(program) == program


def test_dependence_trap() -> None:
    """`after` depends on `out` by way of the call of `work`, so they must not be in one block."""
    assert not any({"forward_out", "forward_after"} <= set(names) for names in blocks(fused(BEFORE)))


def test_nobody_is_delayed() -> None:
    """In one block, `a` would start as late as `b`, after the first call of `work`, and delay the second, which needs `a`."""
    assert blocks(fused(INDEPENDENT, hoist=False))[:2] == [["forward_a"], ["forward_a"]]
    text = INDEPENDENT.replace("call work(a, c)", "call work(slow, c)").replace("(b, early)", "(b, a)")
    assert blocks(fused(text, hoist=False))[0] == ["forward_a", "forward_a"]
    assert blocks(fused(text))[:2] == [["forward_a"], ["forward_a"]]  # `a` is hoisted, `b` is not


def test_views_of_intermediates_are_read_inside_the_block() -> None:
    text = BEFORE.replace("wide: f32[8] = exp(x)", "wide: f32[8] = softmax(x, dim=0)")
    unit = next(node.unit for node in walk(fused(text).functions["forward"].body) if isinstance(node, Launch))
    assert isinstance(unit, Block)
    assert [i.op for i in unit.steps[-1].kernel.body] == ["slice", "softmax"]


def test_a_view_of_a_view_that_leaves_the_block_stays_whole() -> None:
    """`second`, of which `one` is a view, must be kept outside the block together with `one`."""
    text = """\
entry forward
weight w: f32[3, 3]

def forward(x: f32[3]) -> (f32[], f32[1])
  product: f32[3] = matmul(x, @w)
  second: f32[] = index(product, dim=0, i=1)
  one: f32[1] = reshape(second, shape=(1,))
  mean: f32[] = mean(one, dim=0, keepdim=False)
  (mean, one)
"""
    assert blocks(after(text, vertical.run, coarsen.run)) == [["forward_product", "forward_mean_1"]]


def test_several_views_of_one_intermediate_are_one_operand() -> None:
    text = """\
entry forward
weight w: f32[6, 4]

def forward(x: f32[4]) -> (f32[2], f32[6])
  product: f32[6] = linear(x, @w)
  one: f32[2] = slice(product, dim=0, start=0, stop=2)
  two: f32[2] = slice(product, dim=0, start=2, stop=4)
  left: f32[2] = softmax(one, dim=0)
  right: f32[2] = softmax(two, dim=0)
  sum: f32[2] = add(left, right)
  (sum, product)
"""
    made = """\
entry forward
weight w: f32[6, 4]

kernel forward_product(x: gathered f32[4], w: shared f32[6, 4])
  product: f32[6] = linear(x, w)
  return product

kernel forward_sum_1(product: gathered f32[6])
  two: f32[2] = slice(product, dim=0, start=2, stop=4)
  one: f32[2] = slice(product, dim=0, start=0, stop=2)
  left: f32[2] = softmax(one, dim=0)
  right: f32[2] = softmax(two, dim=0)
  sum: f32[2] = add(left, right)
  return sum

block forward_product_sum(x: gathered f32[4], w: shared f32[6, 4])
  forward_product(x, w)
  forward_sum_1(0.0)
  return 0.0, 1.0

def forward(x: f32[4]) -> (f32[2], f32[6])
  product_sum: (f32[6], f32[2]) = launch forward_product_sum(x, @w)
  product: f32[6] = product_sum[0]
  sum: f32[2] = product_sum[1]
  (sum, product)
"""
    assert_makes(text, made, vertical.run, coarsen.run)


VIEW_OF_A_MEMBER = """\
entry forward
weight w: f32[4, 4]

def forward(h: f32[4]) -> f32[4]
  product: f32[4] = linear(h, @w)
  xs: list[int] = [1, 2] as list[int]
  mapped: list[f32[4]] = map each: int in xs
    view: f32[4] = reshape(product, shape=(4,))
    softmax(view, dim=0)
  total: f32[4] = list_sum(mapped, nonempty=True)
  tanh(total)
"""


def test_what_a_maps_items_view_is_computed_before_its_block() -> None:
    """The host makes the map's items of `product`, so `product` must not be computed in the same block."""
    program = read_program(VIEW_OF_A_MEMBER)
    made = coarsen.run(vertical.run(inline.run(program)))
    verify(made)
    h = np.arange(4, dtype=np.float32)
    values = {"w": np.eye(4, dtype=np.float32)}
    np.testing.assert_allclose(Interpreter(made, values).run(h), Interpreter(program, values).run(h))
