"""Reductions of lists: which loops become a `list_sum`, and which must not."""

from __future__ import annotations

import numpy as np
import pytest

from backends.acrobat.errors import InstanceError
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.nodes import Fold
from backends.acrobat.ir.printer import print_program
from backends.acrobat.ir.visitor import walk
from backends.acrobat.passes import folds
from backends.acrobat.passes.tests.texts import after, assert_makes

SUMS = """\
entry forward
weight start: f32[4]
weight none: f32[4]
weight w: f32[4, 4]
derive none = full(shape=(4,), value=0.0)

def forward(xs: list[f32[4]]) -> (f32[4], f32[4], f32[4], f32[4], f32[4])
  plain: (f32[4],) = fold x: f32[4] in xs with a: f32[4] = @none
    a_1: f32[4] = add(a, x)
    (a_1,)
  a_2: f32[4] = plain[0]
  started: (f32[4],) = fold y: f32[4] in xs with b: f32[4] = @start
    b_1: f32[4] = add(y, b)
    (b_1,)
  b_2: f32[4] = started[0]
  first: f32[4] = host list.get(xs, 0)
  others: list[f32[4]] = host list.slice(xs, 1, 4611686018427387904)
  reduced: (f32[4],) = fold z: f32[4] in others with c: f32[4] = first
    c_1: f32[4] = add(c, z)
    (c_1,)
  c_2: f32[4] = reduced[0]
  both: (f32[4], f32[4]) = fold v: f32[4] in xs with d: f32[4] = @none, state: f32[4] = @start
    part: f32[4] = tanh(v)
    twice: f32[4] = mul(part, 2.0)
    d_1: f32[4] = add(d, twice)
    d_2: f32[4] = add(part, d_1)
    moved: f32[4] = linear(state, @w)
    (d_2, moved)
  d_3: f32[4] = both[0]
  state_1: f32[4] = both[1]
  (a_2, b_2, c_2, d_3, state_1)
"""

SUMMED = """\
entry forward
weight start: f32[4]
weight w: f32[4, 4]

def forward(xs: list[f32[4]]) -> (f32[4], f32[4], f32[4], f32[4], f32[4])
  a_3: f32[4] = list_sum(xs, nonempty=False)
  b_3: f32[4] = list_sum(xs, nonempty=False)
  b_4: f32[4] = add(@start, b_3)
  c_3: f32[4] = list_sum(xs, nonempty=True)
  added_2: list[f32[4]] = map v_1: f32[4] in xs
    part_1: f32[4] = tanh(v_1)
    twice_1: f32[4] = mul(part_1, 2.0)
    added_1: f32[4] = add(twice_1, part_1)
    added_1
  d_4: f32[4] = list_sum(added_2, nonempty=False)
  rest: (f32[4],) = fold v: f32[4] in xs with state: f32[4] = @start
    moved: f32[4] = linear(state, @w)
    (moved,)
  state_2: f32[4] = rest[0]
  (a_3, b_4, c_3, d_4, state_2)
"""

KEPT = """\
entry forward
weight start: f32[4]

def forward(xs: list[f32[4]]) -> (f32[4], f32[4], f32[4], f32[4], f32[4], f32[4], f32[4], list[f32[4]])
  doubled: (f32[4],) = fold x: f32[4] in xs with a: f32[4] = @start
    a_1: f32[4] = add(a, a)
    (a_1,)
  a_2: f32[4] = doubled[0]
  gated: (f32[4],) = fold y: f32[4] in xs with b: f32[4] = @start
    gate: f32[4] = sigmoid(b)
    part: f32[4] = mul(gate, y)
    b_1: f32[4] = add(b, part)
    (b_1,)
  b_2: f32[4] = gated[0]
  shared: (f32[4], f32[4]) = fold z: f32[4] in xs with c: f32[4] = @start, d: f32[4] = @start
    t: f32[4] = tanh(z)
    c_1: f32[4] = add(c, t)
    d_1: f32[4] = mul(d, t)
    (c_1, d_1)
  c_2: f32[4] = shared[0]
  d_2: f32[4] = shared[1]
  prefixes: (f32[4], list[f32[4]]) = fold u: f32[4] in xs with e: f32[4] = @start, sums: list[f32[4]] = xs
    e_1: f32[4] = add(e, u)
    sums_1: list[f32[4]] = host list.append(sums, e_1)
    (e_1, sums_1)
  e_2: f32[4] = prefixes[0]
  sums_2: list[f32[4]] = prefixes[1]
  crossed: (f32[4], f32[4]) = fold v: f32[4] in xs with f: f32[4] = @start, g: f32[4] = @start
    f_1: f32[4] = add(f, g)
    g_1: f32[4] = tanh(v)
    (f_1, g_1)
  f_2: f32[4] = crossed[0]
  g_2: f32[4] = crossed[1]
  (a_2, b_2, c_2, d_2, e_2, f_2, g_2, sums_2)
"""


def test_a_loop_that_only_adds_is_a_sum_and_what_it_adds_a_map() -> None:
    assert_makes(SUMS, SUMMED, folds.run)


def test_other_loops_stay() -> None:
    """Loops that are no reduction: the variable is added to itself; a term depends on the variable; the rest of the loop needs
    the work for a term; the sums of all prefixes are used; a term is another carried variable."""
    assert_makes(KEPT, KEPT, folds.run)


def test_meaning_with_several_and_with_no_items() -> None:
    random = np.random.default_rng(0)
    values = {"start": random.standard_normal(4), "w": random.standard_normal((4, 4))}
    before, new = Interpreter(after(SUMS), values), Interpreter(after(SUMS, folds.run), values)
    for count in (1, 2, 5):
        instance = [random.standard_normal(4) for _ in range(count)]
        for x, y in zip(before.run(instance), new.run(instance), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
    for program in (before, new):
        with pytest.raises(InstanceError):  # `reduce` without a start
            program.run([])


def test_only_a_slice_of_all_but_the_first_is_the_whole_list() -> None:
    for old, changed in (("slice(xs, 1,", "slice(xs, 2,"), ("get(xs, 0)", "get(xs, 1)"), ("4611686018427387904", "3")):
        text = SUMS.replace(old, changed)
        assert text != SUMS
        assert "nonempty=True" not in print_program(after(text, folds.run))


def test_a_zero_start_of_a_larger_shape_stays() -> None:
    text = """\
entry forward
weight none: f32[2, 4]
derive none = full(shape=(2, 4), value=0.0)

def forward(xs: list[f32[4]]) -> f32[2, 4]
  run: (f32[2, 4],) = fold x: f32[4] in xs with a: f32[2, 4] = @none
    a_1: f32[2, 4] = add(a, x)
    (a_1,)
  last: f32[2, 4] = run[0]
  last
"""
    program = after(text, folds.run)
    assert not any(isinstance(node, Fold) for node in walk(program.functions["forward"].body))
    np.testing.assert_allclose(Interpreter(program).run([np.arange(4.0), np.ones(4)]), np.arange(4.0) + np.ones((2, 4)))


def test_a_fold_over_nothing_but_sums_is_gone() -> None:
    program = after(SUMS, folds.run)
    (loop,) = (node for node in walk(program.functions["forward"].body) if isinstance(node, Fold))
    assert [v.name for v in loop.vars] == ["state"]
