"""Dependence inside a let chain: direct, transitive and through nested bodies; which bindings are independent of each other."""

from __future__ import annotations

from backends.acrobat.analyses.dependence import Dependence
from backends.acrobat.core.types import ListT, TensorT
from backends.acrobat.ir.nodes import Expr, Map, Op, Var

T = TensorT((4,))


def var(name: str) -> Var:
    return Var(name, T)


def op(*names: str) -> Expr:
    return Op("add", tuple(map(var, names)), (), T)


def chain(**values: Expr) -> Dependence:
    return Dependence([(var(name), value) for name, value in values.items()])


def test_direct_and_transitive() -> None:
    d = chain(a=op("x", "y"), b=op("a", "x"), c=op("b", "b"), d=op("x", "y"))
    assert [d.direct(i) for i in range(4)] == [frozenset(), {0}, {1}, frozenset()]
    assert [d.before(i) for i in range(4)] == [0, 0b001, 0b011, 0]


def test_names_inside_a_body_count_and_what_it_binds_does_not() -> None:
    body = Map(var("e"), Var("xs", ListT(T)), op("e", "a"), ListT(T))
    d = chain(a=op("x", "y"), b=op("x", "y"), m=body)
    assert d.direct(2) == {0}


def test_bug_6_grouped_siblings_are_checked_for_dependence() -> None:
    """ACRoBat's original code fuses consecutive calls of one function without checking dependence: a = f(x); b = f(a)."""
    d = chain(a=op("x", "y"), b=op("a", "y"), c=op("x", "x"))
    assert not d.independent([0, 1])
    assert d.independent([0, 2]) and d.independent([1, 2])
    assert not chain(a=op("x", "y"), m=op("a", "a"), b=op("m", "y")).independent([0, 2])
