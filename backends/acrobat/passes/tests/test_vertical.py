"""Which operations become one kernel."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.core.units import Kernel
from backends.acrobat.ir.nodes import Launch, Op, Program
from backends.acrobat.ir.visitor import walk
from backends.acrobat.ir.work import is_view
from backends.acrobat.passes import coarsen, vertical
from backends.acrobat.passes.tests.test_coarsen import blocks
from backends.acrobat.passes.tests.texts import after, assert_makes

GRU = """\
entry forward
weight w: f32[8, 8]
weight v: f32[4, 4]
weight b: f32[4]

def forward(instance: (f32[4], f32[4], list[f32[4]])) -> (f32[4], f32[4], f32[8], f32[2])
  x: f32[4] = instance[0]
  h: f32[4] = instance[1]
  xs: list[f32[4]] = instance[2]
  both: f32[8] = cat(x, h, dim=0)
  gates: f32[8] = linear(both, @w)
  z: f32[4] = slice(gates, dim=0, start=0, stop=4)
  r: f32[4] = slice(gates, dim=0, start=4, stop=8)
  z_1: f32[4] = sigmoid(z)
  r_1: f32[4] = sigmoid(r)
  kept: f32[4] = mul(r_1, h)
  total: f32[4] = list_sum(xs, nonempty=False)
  candidate: f32[4] = linear(kept, @v, @b)
  out: f32[4] = tanh(candidate)
  mixed: f32[4] = mul(out, z_1)
  new: f32[4] = add(mixed, total)
  relued: f32[4] = relu(x)
  weights: f32[4] = softmax(relued, dim=0)
  doubled: f32[4] = mul(weights, 2.0)
  half: f32[2] = slice(doubled, dim=0, start=0, stop=2)
  (new, kept, both, half)
"""

FUSED = """\
entry forward
weight w: f32[8, 8]
weight v: f32[4, 4]
weight b: f32[4]

kernel forward_both(x: gathered f32[4], h: gathered f32[4])
  both: f32[8] = cat(x, h, dim=0)
  return both

kernel forward_z_kept(x: gathered f32[4], h: gathered f32[4], w: shared f32[8, 8])
  both_1: f32[8] = cat(x, h, dim=0)
  gates: f32[8] = linear(both_1, w)
  z: f32[4] = slice(gates, dim=0, start=0, stop=4)
  z_1: f32[4] = sigmoid(z)
  r: f32[4] = slice(gates, dim=0, start=4, stop=8)
  r_1: f32[4] = sigmoid(r)
  kept: f32[4] = mul(r_1, h)
  return z_1, kept

kernel forward_new(kept: gathered f32[4], v: shared f32[4, 4], b: shared f32[4], z_1: gathered f32[4], xs: list f32[4])
  candidate: f32[4] = linear(kept, v, b)
  out: f32[4] = tanh(candidate)
  mixed: f32[4] = mul(out, z_1)
  total: f32[4] = list_sum(xs, nonempty=False)
  new: f32[4] = add(mixed, total)
  return new

kernel forward_doubled(x: gathered f32[4])
  relued: f32[4] = relu(x)
  weights: f32[4] = softmax(relued, dim=0)
  doubled: f32[4] = mul(weights, 2.0)
  return doubled

def forward(instance: (f32[4], f32[4], list[f32[4]])) -> (f32[4], f32[4], f32[8], f32[2])
  x: f32[4] = instance[0]
  h: f32[4] = instance[1]
  xs: list[f32[4]] = instance[2]
  both: f32[8] = launch forward_both(x, h)
  z_1_kept: (f32[4], f32[4]) = launch forward_z_kept(x, h, @w)
  z_1: f32[4] = z_1_kept[0]
  kept: f32[4] = z_1_kept[1]
  new: f32[4] = launch forward_new(kept, @v, @b, z_1, xs)
  doubled: f32[4] = launch forward_doubled(x)
  half: f32[2] = slice(doubled, dim=0, start=0, stop=2)
  (new, kept, both, half)
"""

CONVEX = """\
entry forward
weight w: f32[4, 4]

def forward(instance: (f32[4], list[f32[4]])) -> f32[4]
  x: f32[4] = instance[0]
  xs: list[f32[4]] = instance[1]
  p: f32[4] = linear(x, @w)
  added: list[f32[4]] = map e: f32[4] in xs
    s: f32[4] = mul(e, p)
    s
  total: f32[4] = list_sum(added, nonempty=False)
  out: f32[4] = add(p, total)
  out
"""

DELAY = """\
entry forward
weight w: f32[4, 4]

def forward(instance: (f32[4], f32[4], bool)) -> f32[4]
  x: f32[4] = instance[0]
  y: f32[4] = instance[1]
  c: bool = instance[2]
  slow: f32[4] = call work(y, c)
  p: f32[4] = linear(x, @w)
  t: f32[4] = tanh(p)
  late: f32[4] = add(p, slow)
  early: f32[4] = call work(t, c)
  out: f32[4] = add(late, early)
  out

def work(x: f32[4], c: bool) -> f32[4]
  if c
    more: f32[4] = tanh(x)
    again: f32[4] = call work(more, False)
    again
  else
    x
"""

CROSSED = """\
entry forward
weight w: f32[4, 4]

def forward(instance: (f32[4], f32[4])) -> f32[4]
  x: f32[4] = instance[0]
  y: f32[4] = instance[1]
  a: f32[4] = linear(x, @w)
  b: f32[4] = linear(y, @w)
  c: f32[4] = mul(b, 2.0)
  d: f32[4] = add(a, c)
  e: f32[4] = sub(b, d)
  e
"""
RECURRENT = """\
entry forward
weight w: f32[4, 4]
weight u: f32[4, 4]
weight start: f32[4]

def forward(xs: list[f32[4]]) -> f32[4]
  run: (f32[4],) = fold x: f32[4] in xs with h: f32[4] = @start
    right: f32[4] = linear(h, @u)
    left: f32[4] = linear(x, @w)
    sum: f32[4] = add(left, right)
    (sum,)
  last: f32[4] = run[0]
  last
"""
VIEWS = """\
entry forward
weight table: f32[9, 6]
weight w: f32[3, 3]

def forward(i: int) -> (f32[3], f32[2], f32[3])
  row: f32[6] = row(@table, i)
  square: f32[2, 3] = reshape(row, shape=(2, 3))
  top: f32[3] = index(square, dim=0, i=1)
  turned: f32[3, 2] = permute(square, dims=(1, 0))
  first: f32[2] = index(turned, dim=0, i=0)
  out: f32[3] = linear(top, @w)
  out_1: f32[3] = tanh(out)
  (out_1, first, top)
"""


def launches(program: Program) -> list[Launch]:
    return [node for f in program.functions.values() for node in walk(f.body) if isinstance(node, Launch)]


def kernels(program: Program) -> list[list[str]]:
    """The operations of each kernel that is launched, by name, in program order."""
    units = [node.unit for node in launches(program)]
    assert all(isinstance(unit, Kernel) for unit in units)
    return [[i.name for i in unit.body] for unit in units if isinstance(unit, Kernel)]


def test_a_gru_is_two_kernels_and_work_by_rows_another() -> None:
    """A `cat` with other uses is copied into the product's kernel, and computed once for the others."""
    assert_makes(GRU, FUSED, vertical.run)


def test_nothing_leaves_a_kernel_and_comes_back() -> None:
    """`out` uses `p` and a sum that needs `p`, by way of the map: in one kernel with `p` it could not wait for that sum."""
    assert kernels(after(CONVEX, vertical.run)) == [["p"], ["s"], ["total", "out"]]


def test_nothing_comes_back_through_a_list_either() -> None:
    """The list between `p` and `total` is no work, so nothing would be delayed; but it is made after `p` and before `total`."""
    text = """\
entry forward
weight w: f32[4, 4]

def forward(instance: (f32[4], f32[4])) -> f32[4]
  x: f32[4] = instance[0]
  y: f32[4] = instance[1]
  p: f32[4] = linear(x, @w)
  items: list[f32[4]] = [p, x, y] as list[f32[4]]
  total: f32[4] = list_sum(items, nonempty=False)
  out: f32[4] = add(p, total)
  out
"""
    assert kernels(after(text, vertical.run)) == [["p"], ["total", "out"]]
    assert blocks(after(text, vertical.run, coarsen.run)) == [["forward_p"], ["forward_out"]]


def test_hoisted_work_keeps_its_kernel() -> None:
    text = (
        RECURRENT.replace("linear(h, @u)", "relu(x)")
        .replace("linear(x, @w)", "mul(right, 2.0)")
        .replace("left, right", "left, h")
    )
    assert kernels(after(text, vertical.run)) == [["right", "left"], ["sum"]]
    assert kernels(after(text, partial(vertical.run, hoist=False))) == [["right", "left", "sum"]]


@pytest.mark.parametrize(("width", "result"), [(64, "part"), (16, "wide")])
def test_only_what_is_needed_is_stored(width: int, result: str) -> None:
    """The result is the part that is used if its row, padded to 16 elements, is smaller; else it is the whole value."""
    text = f"""\
entry forward

def forward(x: f32[{width}]) -> f32[4]
  wide: f32[{width}] = exp(x)
  part: f32[4] = slice(wide, dim=0, start=4, stop=8)
  part
"""
    (launch,) = launches(after(text, vertical.run))
    assert isinstance(launch.unit, Kernel) and launch.unit.results == (result,)


def test_a_name_from_a_tuple_must_fit_all_results() -> None:
    text = """\
entry forward
weight w: f32[4, 4]

def forward(x: f32[4]) -> ((f32[4], f32[4]), f32[4])
  p: f32[4] = linear(x, @w)
  t: f32[4] = tanh(p)
  pair: (f32[4], f32[4]) = (SECOND, t)
  (pair, p)
"""
    names = [[n.unit.name for n in launches(after(text.replace("SECOND", second), vertical.run))] for second in ("p", "x")]
    assert names == [["forward_pair"], ["forward_p_t"]]


def test_kernels_do_not_wait_for_each_other() -> None:
    """`d` may join the kernel of `a` or of `b`; `e` must then join so that the two kernels do not need each other."""
    groups = kernels(after(CROSSED, vertical.run))
    assert sorted(name for group in groups for name in group) == ["a", "b", "c", "d", "e"]
    assert len(groups) == 2


def test_nobody_is_delayed() -> None:
    """`late` needs a recursion's result. In one kernel with `t` it would delay the other recursion, which needs `t`."""
    run = partial(vertical.run, hoist=False)
    assert kernels(after(DELAY, run))[:2] == [["p", "t"], ["late", "out"]]
    # Here no recursion needs `t` before `late`.
    text = DELAY.replace("call work(t, c)", "call work(late, c)").replace("add(late, early)", "add(early, t)")
    assert kernels(after(text, run))[:2] == [["p", "t", "late"], ["out"]]


def test_the_recurrent_product_takes_the_sum_and_the_hoisted_one_stays() -> None:
    assert kernels(after(RECURRENT, vertical.run)) == [["left"], ["right", "sum"]]
    # Without hoisting, too, the sum joins the product of the carried variable, which can start later than the other product.
    assert kernels(after(RECURRENT, partial(vertical.run, hoist=False))) == [["left"], ["right", "sum"]]


def test_views_of_operands_stay_addresses() -> None:
    program = after(VIEWS, vertical.run)
    assert kernels(program) == [["turned"], ["out", "out_1"]]
    left = [node.op for node in walk(program.functions["forward"].body) if isinstance(node, Op)]
    assert left == ["row", "reshape", "index", "index"]


def test_a_view_on_the_way_to_a_result_does_not_stay_behind() -> None:
    """`one` is a result of the kernel that computes `y`, and a view of `last`, which must not stay outside that kernel."""
    text = """\
entry forward

def forward(xs: list[f32[3]]) -> (f32[], f32[1])
  total: f32[3] = list_sum(xs, nonempty=False)
  y: f32[3] = tanh(total)
  last: f32[] = index(y, dim=0, i=2)
  one: f32[1] = reshape(last, shape=(1,))
  mean: f32[] = mean(one, dim=0, keepdim=False)
  out: f32[1] = tanh(one)
  (mean, out)
"""
    program = after(text, vertical.run)
    assert kernels(program) == [["total", "y", "last", "one", "out"], ["mean"]]
    assert not any(isinstance(node, Op) for node in walk(program.functions["forward"].body))


@pytest.mark.parametrize("text", [GRU, CONVEX, CROSSED, RECURRENT, VIEWS])
def test_off_is_a_kernel_for_each_operation(text: str) -> None:
    before, program = after(text), after(text, partial(vertical.run, fuse=False))
    assert all(len(group) == 1 for group in kernels(program))
    nodes = [node for node in walk(before.functions["forward"].body) if isinstance(node, Op)]
    work = [node.op for node in nodes if OPS[node.op].fusion is not Fusion.ADDRESS and not is_view(node)]
    units = [node.unit for node in launches(program)]
    assert Counter(unit.body[0].op for unit in units if isinstance(unit, Kernel)) == Counter(work)


def test_equal_kernels_are_one() -> None:
    program = after(CROSSED, partial(vertical.run, fuse=False))
    a, b = [node for node in launches(program) if isinstance(node.unit, Kernel) and node.unit.body[0].op == "linear"]
    assert a.unit is b.unit and a.args != b.args
