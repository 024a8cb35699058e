"""The interpreter on whole programs: a model against torch, scopes, weights, blocks, deep and shared structures."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from backends.acrobat import deep
from backends.acrobat.core.types import TensorT
from backends.acrobat.errors import InstanceError, ResourceError
from backends.acrobat.ir import interpreter
from backends.acrobat.ir.interpreter import Interpreter, interpret, run_block, run_kernel
from backends.acrobat.ir.nodes import Function, Program, Var
from backends.acrobat.ir.printer import units
from backends.acrobat.ir.tests.reader import read_program
from backends.acrobat.ir.tests.test_text import UNITS
from backends.acrobat.ir.tests.test_visitor import chain
from backends.acrobat.ir.verifier import verify
from workloads.treelstm.model import Leaf, Node, TreeLSTM

RNG = np.random.default_rng(0)
V = TensorT((4,))


def program(text: str, **values: Any) -> Program:
    p = replace(read_program(text), values=values)
    verify(p)
    return p


# ---- a model

TREELSTM = """
type Tree = Leaf(word: int) | Node(children: list[Tree])
weight embedding.weight: f32[20, 6]
weight W_iou.weight: f32[18, 6]
weight W_iou.bias: f32[18]
weight U_iou.weight: f32[18, 6]
weight U_f.weight: f32[6, 6]
weight U_f.bias: f32[6]
weight classifier.weight: f32[5, 6]
weight classifier.bias: f32[5]

def forward(tree: Tree) -> f32[5]
  state: (f32[6], f32[6]) = call encode(tree)
  h: f32[6] = state[0]
  linear(h, @classifier.weight, @classifier.bias)

def encode(tree: Tree) -> (f32[6], f32[6])
  match tree
    Leaf(word: int)
      x: f32[6] = row(@embedding.weight, word)
      iou: f32[18] = linear(x, @W_iou.weight, @W_iou.bias)
      zero: f32[6] = full(shape=(6,), value=0.0)
      call cell(iou, zero)
    Node(children: list[Tree])
      states: list[(f32[6], f32[6])] = map child: Tree in children
        call encode(child)
      hs: list[f32[6]] = map state: (f32[6], f32[6]) in states
        state[0]
      h_sum: f32[6] = list_sum(hs, nonempty=True)
      projected: f32[18] = linear(h_sum, @U_iou.weight)
      iou2: f32[18] = add(projected, @W_iou.bias)
      forgotten: list[f32[6]] = map pair: (f32[6], f32[6]) in states
        h: f32[6] = pair[0]
        c: f32[6] = pair[1]
        u: f32[6] = linear(h, @U_f.weight, @U_f.bias)
        f: f32[6] = sigmoid(u)
        mul(f, c)
      kept: f32[6] = list_sum(forgotten, nonempty=True)
      call cell(iou2, kept)

def cell(iou: f32[18], kept: f32[6]) -> (f32[6], f32[6])
  i: f32[6] = slice(iou, dim=0, start=0, stop=6)
  o: f32[6] = slice(iou, dim=0, start=6, stop=12)
  u: f32[6] = slice(iou, dim=0, start=12, stop=18)
  i2: f32[6] = sigmoid(i)
  o2: f32[6] = sigmoid(o)
  u2: f32[6] = tanh(u)
  iu: f32[6] = mul(i2, u2)
  c: f32[6] = add(iu, kept)
  c2: f32[6] = tanh(c)
  h: f32[6] = mul(o2, c2)
  (h, c)
"""


def treelstm() -> tuple[TreeLSTM, Program]:
    torch.manual_seed(0)
    model = TreeLSTM(20, 6, 5).double()
    values = {name: w.detach().numpy() for name, w in model.named_parameters()}
    for gates, kind in (("W", "weight"), ("W", "bias"), ("U", "weight")):  # the program has the three gates in one weight
        values[f"{gates}_iou.{kind}"] = np.concatenate([values.pop(f"{gates}_{gate}.{kind}") for gate in "iou"])
    p = program(TREELSTM, **values)
    tree = p.datatypes["Tree"]
    cases = tuple(replace(c, cls={"Leaf": Leaf, "Node": Node}[c.name]) for c in tree.cases)
    return model, replace(p, datatypes={"Tree": replace(tree, cases=cases)})


def test_a_tree_lstm_is_that_of_torch() -> None:
    model, p = treelstm()
    shared = Node([Leaf(4), Leaf(5), Node([Leaf(19)])])
    for instance in (Leaf(0), Node([Leaf(3), shared, Leaf(3), shared])):
        found = interpret(p, instance)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, model(instance).detach().numpy(), rtol=1e-12)


def test_deep_trees_leave_the_process_as_it_was() -> None:
    _, p = treelstm()
    left = right = Node([Leaf(1)])
    for _ in range(2000):
        left, right = Node([left, Leaf(2)]), Node([Leaf(2), right])
    before = sys.getrecursionlimit(), threading.stack_size()
    np.testing.assert_allclose(interpret(p, left), interpret(p, right), rtol=1e-9)
    assert (sys.getrecursionlimit(), threading.stack_size()) == before


def test_a_list_that_contains_itself() -> None:
    children: list[Any] = [Leaf(1)]
    children.append(Node(children))
    with pytest.raises(InstanceError, match=r"instance.children\[1\].children: a structure may not contain itself"):
        interpret(treelstm()[1], Node(children))


# ---- scopes and depth


def test_only_the_branch_taken_is_evaluated() -> None:
    p = program("def forward(c: bool) -> int\n  if c\n    host floordiv(1, 0)\n  else\n    7")
    assert interpret(p, False) == 7
    with pytest.raises(InstanceError, match="zero"):
        interpret(p, True)


def test_maps_in_maps_see_what_is_around_them() -> None:
    p = program(
        """
def forward(xs: list[int]) -> list[list[int]]
  n: int = host list.len(xs)
  map x: int in xs
    inner: list[int] = map y: int in xs
      z: int = host mul(x, y)
      host add(z, n)
    host list.append(inner, x)
"""
    )
    assert interpret(p, [5, 7]) == [[27, 37, 5], [37, 51, 7]]
    assert interpret(p, []) == []


def test_calls_have_variables_of_their_own() -> None:
    p = program(
        """
def forward(n: int) -> int
  m: int = host add(n, 1)
  k: int = call double(m)
  host add(k, n)
def double(n: int) -> int
  m: int = host mul(n, 2)
  m
"""
    )
    assert interpret(p, 10) == 32


def test_long_chains_cost_no_recursion() -> None:
    x = 0.5
    for _ in range(2000):
        x = np.tanh(x)
    p = Program({"forward": Function("forward", (Var("x", V),), V, chain(2000))}, {}, {})
    np.testing.assert_allclose(interpret(p, np.full(4, 0.5)), x)


def test_calls_at_the_end_cost_no_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep, "FRAMES", 2000)
    p = program(
        """
def forward(n: int) -> int
  z: bool = host eq(n, 0)
  if z
    n
  else
    m: int = host sub(n, 1)
    call forward(m)
"""
    )
    assert interpret(p, 10_000) == 0
    monkeypatch.setattr(interpreter, "CALLS", 5000)
    assert interpret(p, 5000) == 0
    for n in (5001, -1):
        with pytest.raises(ResourceError, match="forward is nested too deeply, in 5000 calls: the recursion may not end"):
            interpret(p, n)


def test_a_recursion_without_end_through_maps() -> None:
    p = program(
        "def forward(ns: list[int]) -> int\n  ms: list[int] = map n: int in ns\n    call forward(ns)\n  host list.len(ms)"
    )
    with pytest.raises(ResourceError, match="does it end"):
        interpret(p, [1])
    assert interpret(p, []) == 0


# ---- weights


def test_derived_weights_are_computed_in_order_and_in_float64() -> None:
    p = program(
        """
weight a: f32[2]
weight b: f32[4]
weight c: f32[4]
derive b = cat(a, a, dim=0)
derive c = mul(b, b)
def forward(x: f32[4]) -> f32[4]
  add(x, @c)
""",
        a=np.array([1e-5, 2], np.float32),
    )
    a = np.float64(np.float32(1e-5))
    assert interpret(p, np.zeros(4)).tolist() == [a * a, 4, a * a, 4]
    assert interpret(p, np.zeros(4), {"a": [1, 3]}).tolist() == [1, 9, 1, 9]


def test_weights_without_values() -> None:
    with pytest.raises(ValueError, match=r"the weight a needs a value of shape \(2,\)"):
        Interpreter(program("weight a: f32[2]\ndef forward(x: f32[2]) -> f32[2]\n  add(x, @a)"))


# ---- instances


def test_optional_lists_and_the_empty_list() -> None:
    p = program(
        """
type Maybe = None() | Some(value: list[list[int]])
def forward(s: Maybe) -> int
  match s
    None()
      -1
    Some(xs: list[list[int]])
      host list.len(xs)
"""
    )
    assert interpret(p, None) == -1
    same: list[int] = []
    assert interpret(p, [same, same]) == 2
    assert interpret(p, ()) == 0


def test_numbers_and_sequences_that_fit() -> None:
    p = program("def forward(x: (int, float, list[bool], i64[1])) -> (int, float, list[bool], i64[1])\n  x")
    n, f, bs, t = interpret(p, (np.int32(3), 2, (True, False), torch.tensor([7])))
    assert (n, f, bs, t.tolist()) == (3, 2.0, [True, False], [7])
    assert (type(n), type(f), t.dtype) == (int, float, np.int64)


# ---- launches


def test_literals_several_results_and_empty_lists() -> None:
    p = program(UNITS, w=RNG.normal(size=(4, 4)))
    w = p.values["w"]
    xs = [RNG.normal(size=4) for _ in range(3)]
    total = sum(0.5 * (w @ x) + x for x in xs)
    for found in interpret(p, xs):
        np.testing.assert_allclose(found, total)
    for zero in interpret(p, []):
        np.testing.assert_array_equal(zero, np.zeros(4))


BLOCK = """
kernel plus(x: gathered f32[2], y: gathered f32[2])
  z: f32[2] = add(x, y)
  d: f32[2] = sub(x, y)
  return z, d
kernel sum(xs: list f32[2])
  s: f32[2] = list_sum(xs, nonempty=True)
  return s
block b(x: gathered f32[2], hs: list f32[2], cs: list f32[2])
  groups hs: g, cs: g
  plus(x, x)
  plus(hs, 0.0) over hs
  plus(1.1, cs) over cs
  sum(2.0)
  sum(cs)
  return 3.0, 0.0, 4.0
def forward(all: (f32[2], list[f32[2]], list[f32[2]])) -> (f32[2], f32[2], f32[2])
  x: f32[2] = all[0]
  hs: list[f32[2]] = all[1]
  cs: list[f32[2]] = all[2]
  launch b(x, hs, cs)
"""


def test_steps_over_items_mix_what_is_per_item_and_what_is_not() -> None:
    p = program(BLOCK)
    x, hs, cs = RNG.normal(size=2), list(RNG.normal(size=(3, 2))), list(RNG.normal(size=(3, 2)))
    first, second, third = interpret(p, (x, hs, cs))
    np.testing.assert_allclose(first, sum(h - 2 * x + c for h, c in zip(hs, cs, strict=True)))
    np.testing.assert_allclose(second, 2 * x)
    np.testing.assert_allclose(third, sum(cs))
    with pytest.raises(InstanceError, match="the sum of an empty list"):
        interpret(p, (x, [], []))


def test_units_alone() -> None:
    plus, total, block = units(program(BLOCK).functions.values())
    one, two = np.ones(2), np.full(2, 2.0)
    assert [r.tolist() for r in run_kernel(plus, [one, two])] == [[3, 3], [-1, -1]]  # type: ignore[arg-type]
    assert run_kernel(total, [[one, two]])[0].tolist() == [3, 3]  # type: ignore[arg-type]
    assert run_block(block, [one, [two], [one]])[0].tolist() == [1, 1]  # type: ignore[arg-type]
