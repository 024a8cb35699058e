"""Inlining: which functions are inlined, which stay, and the names of the variables afterwards."""

from __future__ import annotations

import pytest

from backends.acrobat.analyses.tests.chain import Chain, H, W, call, function, host, lit, op, pair, program, weight
from backends.acrobat.analyses.tests.models import birnn
from backends.acrobat.core.types import BOOL, INT, ListT, TupleT
from backends.acrobat.ir.nodes import Call, Expr, Field, Fold, If, Map, Op, Program, Tuple, Var
from backends.acrobat.ir.visitor import binders, lets, walk
from backends.acrobat.passes import inline

X, W0 = Var("x", H), Var("w", W)
XS = Var("xs", ListT(H))
C = Var("c", BOOL)


def calls(p: Program) -> list[str]:
    return [node.function for f in p.functions.values() for node in walk(f.body) if isinstance(node, Call)]


def names(expr: Expr) -> list[str]:
    return [var.name for var, _ in lets(expr)[0]]


def cell() -> Expr:
    chain = Chain()
    inner = chain("inner", op("linear", X, W0))
    return chain.end(chain("h", op("tanh", inner)))


def test_the_result_takes_the_callers_name_and_the_rest_is_numbered_where_taken() -> None:
    chain = Chain()
    first = chain("first", call("cell", H, X, weight("a")))
    inner = chain("inner", op("relu", first))
    second = chain("second", call("cell", H, inner, weight("b")))
    p = program(function("forward", (X,), chain.end(second)), function("cell", (X, W0), cell()), a=W, b=W)
    p = inline.run(p)
    assert list(p.functions) == ["forward"]
    assert names(p.functions["forward"].body) == ["inner_1", "first", "inner", "inner_2", "second"]
    assert lets(p.functions["forward"].body)[0][3][1] == op("linear", Var("inner", H), weight("b"))


def test_a_tuple_of_results_is_taken_apart() -> None:
    body = Chain()
    h = body("h", op("tanh", X))
    c = body("c", op("relu", h))
    chain = Chain()
    state = chain("state", call("cell", pair(H, H), X))
    out = chain("out", op("add", chain("a", Field(state, 0, H)), chain("b", Field(state, 1, H))))
    p = program(function("forward", (X,), chain.end(out)), function("cell", (X,), body.end(Tuple((h, c), pair(H, H)))))
    bindings, _ = lets(inline.run(p).functions["forward"].body)
    assert [var.name for var, _ in bindings] == ["h", "c", "out"]
    assert bindings[-1][1] == op("add", Var("h", H), Var("c", H))


def test_inside_bodies_of_all_kinds() -> None:
    e, s = Var("e", H), Var("s", H)
    step = Chain()
    new = step("new", call("cell", H, e, weight("a")))
    fold = Fold(e, XS, (s,), (X,), step.end(Tuple((new,), TupleT((H,)))), TupleT((H,)))
    each = Var("each", H)
    chain = Chain()
    mapped = chain("mapped", Map(each, XS, call("cell", H, each, weight("a")), ListT(H)))
    chain("looped", fold)
    total = chain("total", op("list_sum", mapped, nonempty=True))
    last = chain("last", Field(Var("looped", TupleT((H,))), 0, H))
    out = chain("out", If(C, call("cell", H, total, weight("a")), last, H))
    p = program(function("forward", (X, XS, C), chain.end(out)), function("cell", (X, W0), cell()), a=W)
    p = inline.run(p)
    assert calls(p) == []
    assert sum(isinstance(node, Op) and node.op == "linear" for node in walk(p.functions["forward"].body)) == 3
    bound = [var.name for node in walk(p.functions["forward"].body) for var in binders(node)]
    assert len(bound) == len(set(bound))


@pytest.mark.parametrize("recursive", [False, True])
def test_recursive_functions_stay_and_their_helpers_go_into_them(recursive: bool) -> None:
    p = inline.run(birnn(recursive))
    assert list(p.functions) == (["forward", "scan"] if recursive else ["forward"])


def test_mutual_recursion_stays() -> None:
    n = Var("n", INT)

    def body(other: str) -> Expr:
        chain = Chain()
        stop = chain("stop", host("eq", BOOL, n, lit(0)))
        return chain.end(If(stop, X, call(other, H, X, n), H))

    forward = function("forward", (X, n), call("odd", H, X, n))
    p = inline.run(program(forward, function("odd", (X, n), body("even")), function("even", (X, n), body("odd"))))
    assert list(p.functions) == ["forward", "odd", "even"]


def long(count: int) -> Expr:
    chain, at = Chain(), X
    for i in range(count):
        at = chain(f"v{i}", op("tanh", at))
    return chain.end(at)


@pytest.mark.parametrize(("count", "sites", "stays"), [(inline.LARGE, 2, False), (inline.LARGE + 1, 2, True), (1000, 1, False)])
def test_what_is_large_stays_unless_it_is_called_once(count: int, sites: int, stays: bool) -> None:
    chain, at = Chain(), X
    for i in range(sites):
        at = chain(f"r{i}", call("large", H, at))
    p = inline.run(program(function("forward", (X,), chain.end(at)), function("large", (X,), long(count))))
    assert ("large" in p.functions) == stays
    assert len(calls(p)) == (sites if stays else 0)


def test_calls_that_double_at_each_level_do_not_explode() -> None:
    functions = [function("f0", (X,), op("tanh", X))]
    for i in range(1, 40):
        chain = Chain()
        a = chain("a", call(f"f{i - 1}", H, X))
        functions.append(function(f"f{i}", (X,), chain.end(chain("b", call(f"f{i - 1}", H, a)))))
    p = inline.run(program(function("forward", (X,), call("f39", H, X)), *functions))
    nodes = sum(1 for f in p.functions.values() for _ in walk(f.body))
    assert 0 < len(p.functions) < 40 and nodes < 40 * 4 * inline.LARGE


def test_functions_that_nothing_calls_go() -> None:
    p = program(
        function("forward", (X,), op("tanh", X)), function("orphan", (X,), call("friend", H, X)), function("friend", (X,), X)
    )
    assert list(inline.run(p).functions) == ["forward"]
