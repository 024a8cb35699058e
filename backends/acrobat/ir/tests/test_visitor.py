"""Walking and rebuilding: chains of lets of any length, free variables, substitution, renaming."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
from hypothesis import HealthCheck, given, settings

from backends.acrobat.core.types import BOOL, INT, ListT, TensorT, TupleT
from backends.acrobat.ir.interpreter import interpret
from backends.acrobat.ir.make import make_op
from backends.acrobat.ir.nodes import Expr, Function, If, Let, Lit, Map, Op, Program, Tuple, Var, Weight
from backends.acrobat.ir.renaming import Names, names_of, rename, substitute
from backends.acrobat.ir.tests.programs import Sample, samples
from backends.acrobat.ir.tests.reader import read_program
from backends.acrobat.ir.tests.test_programs import leaves
from backends.acrobat.ir.verifier import verify
from backends.acrobat.ir.visitor import (
    binders,
    bodies,
    free_vars,
    from_lets,
    lets,
    map_bodies,
    map_children,
    operands,
    walk,
    with_bodies,
    with_operands,
)

V = TensorT((4,))
X, Y, C = Var("x", V), Var("y", V), Var("c", BOOL)
LONG = 20_000

ALL_NODES = """
entry forward
type D = Empty() | Full(n: int, x: f32[4])
weight w: f32[4]

kernel k(x: gathered f32[4])
  y: f32[4] = tanh(x)
  return y

def forward(d: D) -> f32[4]
  n: int = match d
    Empty()
      0
    Full(m: int, x: f32[4])
      host add(m, 1)
  ns: list[int] = host range(0, n, 1)
  xs: list[f32[4]] = map i: int in ns
    scaled: f32[] = scalar(i)
    mul(@w, scaled)
  folded: (f32[4],) = fold item: f32[4] in xs with state: f32[4] = @w
    sum: f32[4] = add(state, item)
    (sum,)
  last: f32[4] = folded[0]
  looped: (int, f32[4]) = loop with j: int = 0, h: f32[4] = last
  while
    host lt(j, n)
  do
    next: int = host add(j, 1)
    h2: f32[4] = launch k(h)
    (next, h2)
  h3: f32[4] = looped[1]
  more: list[f32[4]] = [h3, last] as list[f32[4]]
  total: f32[4] = list_sum(more)
  again: D = new D Full(n, total)
  first: f32[] = index(total, dim=0, i=0)
  number: float = item first as float
  large: bool = host gt(number, 100.0)
  if large
    call forward(again)
  else
    inner: f32[4] = begin
      deep: f32[4] = neg(total)
      relu(deep)
    sub(inner, total)
"""


def forward() -> Function:
    return read_program(ALL_NODES).functions["forward"]


def chain(length: int) -> Expr:
    bindings = [(Var(f"v{i}", V), make_op("tanh", [Var(f"v{i - 1}", V) if i else X])) for i in range(length)]
    return from_lets(bindings, Var(f"v{length - 1}", V))


def test_chains() -> None:
    bindings, result = lets(chain(3))
    assert [v.name for v, _ in bindings] == ["v0", "v1", "v2"] and result == Var("v2", V)
    assert from_lets(bindings, result) == chain(3)
    assert lets(X) == ([], X)


def test_long_chains_cost_no_recursion() -> None:
    long = chain(LONG)
    assert long.type == V
    assert sum(isinstance(node, Op) for node in walk(long)) == LONG
    assert free_vars(long) == {"x"}
    moved = rename(substitute(long, {"x": Y}), Names(["v0"]))
    bindings, _ = lets(moved)
    assert bindings[0] == (Var("v0_1", V), make_op("tanh", [Y]))
    assert bindings[-1][1] == make_op("tanh", [Var(f"v{LONG - 2}", V)])
    assert map_children(long, lambda e: e) is long
    assert len(names_of(Function("f", (X,), V, long))) == LONG + 1


def test_rebuilding_with_the_same_parts_is_the_same() -> None:
    for node in walk(forward().body):
        assert with_operands(node, operands(node)) is node
        assert with_bodies(node, bodies(node)) is node
        assert map_children(node, lambda e: e) is node


def test_rebuilding_with_copies_of_the_parts_is_equal() -> None:
    for node in walk(forward().body):
        if not isinstance(node, (Var, Lit, Weight)):
            copies = [replace(a) for a in operands(node)]
            assert with_operands(node, copies) == node
            assert all(a is b for a, b in zip(operands(with_operands(node, copies)), copies, strict=True))
        inner = [Let(Var("copy", b.type), b, Var("copy", b.type)) for b in bodies(node)]
        assert bodies(with_bodies(node, inner)) == tuple(inner)
        assert operands(with_bodies(node, inner)) == operands(node)


def test_the_walk_is_in_order_of_evaluation() -> None:
    body = Let(Y, make_op("tanh", [X]), If(C, make_op("relu", [Y]), Y, V))
    kinds = [node.op if isinstance(node, Op) else getattr(node, "name", type(node).__name__) for node in walk(body)]
    assert kinds == ["Let", "tanh", "x", "If", "c", "relu", "y", "y"]


def test_the_walk_meets_every_node() -> None:
    assert {type(node) for node in walk(forward().body)} == set(get_args(Expr))


def test_free_variables() -> None:
    each = Var("each", V)
    body = Map(each, Var("xs", ListT(V)), make_op("add", [each, Y]), ListT(V))
    assert free_vars(body) == {"xs", "y"}
    assert free_vars(forward().body) == {"d"}
    assert free_vars(Lit(1, INT)) == frozenset()


def test_free_variables_are_those_used_and_not_bound() -> None:
    for node in walk(forward().body):
        inside = list(walk(node))
        used = {each.name for each in inside if isinstance(each, Var)}
        bound = {var.name for each in inside if not isinstance(each, Var) for var in binders(each)}
        assert free_vars(node) == used - bound
        assert free_vars(node) == used - bound, "the second answer, which was kept"


def test_a_changed_copy_has_free_variables_of_its_own() -> None:
    branch = If(C, X, X, V)
    assert free_vars(branch) == {"c", "x"}
    assert free_vars(replace(branch, orelse=Y)) == {"c", "x", "y"}


def test_variables_that_nodes_bind() -> None:
    bound = [v.name for node in walk(forward().body) for v in binders(node)]
    assert len(bound) == len(set(bound))
    assert {"m", "x", "i", "item", "state", "j", "h", "deep"} <= set(bound)
    assert names_of(forward()) == {*bound, "d"}


def test_substitution_reaches_every_use() -> None:
    each = Var("each", V)
    body = Let(Y, If(C, X, make_op("neg", [X]), V), Map(each, Var("xs", ListT(V)), Tuple((X, each), TupleT((V, V))), ListT(V)))
    changed = substitute(body, {"x": Weight("w", V), "c": Lit(True, BOOL)})
    assert free_vars(changed) == {"xs"}
    assert [node.name for node in walk(changed) if isinstance(node, Weight)] == ["w"] * 3
    assert substitute(body, {}) is body


def test_map_bodies_leaves_operands() -> None:
    body = If(C, X, Y, V)
    assert map_bodies(body, lambda e: make_op("neg", [e])) == If(C, make_op("neg", [X]), make_op("neg", [Y]), V)  # type: ignore[list-item]


def test_fresh_names() -> None:
    names = Names(["x", "y_1"])
    assert [names.fresh(n) for n in ("x", "x", "x_1", "y_1", "z")] == ["x_1", "x_2", "x_3", "y_2", "z"]


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(samples(waits=True, instances=1))
def test_renamed_copies_mean_the_same(sample: Sample) -> None:
    program = sample.program
    functions = {}
    for name, f in program.functions.items():
        names = Names(names_of(f))
        params = tuple(replace(p, name=names.fresh(p.name)) for p in f.params)
        body = substitute(rename(f.body, names), dict(zip((p.name for p in f.params), params, strict=True)))
        functions[name] = replace(f, params=params, body=body)
        assert not names_of(f) & names_of(functions[name])
    renamed: Program = replace(program, functions=functions)
    verify(renamed)
    for instance in sample.instances:
        np.testing.assert_equal(leaves(interpret(renamed, instance)), leaves(interpret(program, instance)))
