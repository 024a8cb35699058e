"""Program phases of whole models and of small shapes."""

from __future__ import annotations

import pytest

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.depth import static_depths
from backends.acrobat.analyses.phases import Phases, marked_phases, phases
from backends.acrobat.analyses.tests.chain import TREES, Chain, H, call, function, host, lit, op, program
from backends.acrobat.analyses.tests.models import birnn, treelstm
from backends.acrobat.core.types import BOOL, FLOAT, INT, DataT, ListT, TensorT, TupleT
from backends.acrobat.ir.nodes import Arm, Field, Fold, Host, If, Item, Map, Match, Program, Tuple, Var

X = Var("x", H)
XS = Var("xs", ListT(H))
C = Var("c", BOOL)


def of(p: Program) -> Phases:
    graph = CallGraph(p)
    return phases(p, graph, static_depths(p, graph))


@pytest.mark.parametrize("recursive", [False, True])
def test_birnn_scans_share_a_phase_and_the_classifier_has_the_next(recursive: bool) -> None:
    found = of(birnn(recursive))
    assert found.of == {"forwards": 0, "backwards": 0, "out": 1, "labels": 1}
    assert found.count == 2


def test_treelstm() -> None:
    assert of(treelstm()).of == {"root": 0, "scores": 1}


def fold(chain: Chain, name: str, start: Var, xs: Var = XS) -> Var:
    """The last state of a loop over `xs`."""
    e, state = Var(f"{name}_e", H), Var(f"{name}_state", H)
    step = Chain()
    body = step.end(Tuple((step(f"{name}_new", op("add", state, e)),), TupleT((H,))))
    loop = chain(name, Fold(e, xs, (state,), (start,), body, TupleT((H,))))
    return chain(f"{name}_last", Field(loop, 0, H))


def test_each_stage_waits_for_the_loop_before_and_straight_lines_wait_for_nothing() -> None:
    chain = Chain()
    a = chain("a", op("tanh", X))
    first = fold(chain, "first", a)
    b = chain("b", op("tanh", first))
    c = chain("c", op("tanh", b))
    side = fold(chain, "side", a)
    second = fold(chain, "second", c)
    d = chain("d", op("add", second, side))
    p = program(function("forward", (X, XS), chain.end(d)))
    assert of(p).of == {"a": 0, "first": 0, "b": 1, "c": 1, "side": 0, "second": 1, "d": 2}
    assert of(p).count == 3


def test_a_loop_that_records_nothing_is_no_stage() -> None:
    e, state = Var("e", H), Var("state", H)
    chain = Chain()
    loop = chain("loop", Fold(e, XS, (state,), (X,), Tuple((e,), TupleT((H,))), TupleT((H,))))
    out = chain("out", op("tanh", chain("last", Field(loop, 0, H))))
    assert of(program(function("forward", (X, XS), chain.end(out)))).of == {"out": 0}


def test_a_map_of_straight_lines_keeps_depths_level_and_a_map_of_loops_does_not() -> None:
    each = Var("each", H)
    inner = Chain()
    looped = Map(each, XS, inner.end(fold(inner, "inner", each)), ListT(H))
    chain = Chain()
    total = chain("total", op("list_sum", chain("looped", looped), nonempty=True))
    assert of(program(function("forward", (X, XS), chain.end(total)))).of == {"looped": 0, "total": 1}
    straight, body = Chain(), Chain()
    mapped = straight("mapped", Map(each, XS, body.end(body("m", op("tanh", each))), ListT(H)))
    total = straight("total", op("list_sum", mapped, nonempty=True))
    assert of(program(function("forward", (X, XS), straight.end(total)))).of == {"mapped": 0, "total": 0}


def test_stages_in_the_arms_of_the_tail() -> None:
    tree, children = Var("tree", DataT("Tree")), Var("children", ListT(DataT("Tree")))
    one, many = Chain(), Chain()
    leaf = one.end(one("w", op("tanh", X)))
    node = many.end(many("out", op("tanh", fold(many, "loop", X))))
    cond = Var("cond", BOOL)
    body = If(cond, X, Match(tree, (Arm("Leaf", (Var("word", INT),), leaf), Arm("Node", (children,), node)), H), H)
    p = program(function("forward", (X, XS, tree, cond), body), datatypes=TREES)
    assert of(p).of == {"w": 0, "loop": 0, "out": 1}


def test_a_number_that_a_loop_counted_holds_nothing_up() -> None:
    e, state, n = Var("e", H), Var("state", H), Var("n", INT)
    step, chain = Chain(), Chain()
    t = TupleT((H, INT))
    more = step("more", host("add", INT, n, lit(1)))
    body = step.end(Tuple((step("new", op("add", state, e)), more), t))
    loop = chain("loop", Fold(e, XS, (state, n), (X, lit(0)), body, t))
    scaled = chain("scaled", op("mul", X, chain("count", Field(loop, 1, INT))))
    assert of(program(function("forward", (X, XS), chain.end(scaled)))).of == {"loop": 0, "scaled": 0}


def test_recursion_without_work_passes_a_stage_on() -> None:
    again = Chain()
    walk = function("walk", (X, C), If(C, X, again.end(again("r", call("walk", H, X, C))), H))
    chain = Chain()
    got = chain("got", call("walk", H, fold(chain, "loop", X), C))
    p = program(function("forward", (X, XS, C), chain.end(chain("out", op("tanh", got)))), walk)
    assert of(p).of == {"loop": 0, "out": 1}


def test_recursion_that_only_hands_on_is_no_stage() -> None:
    again = Chain()
    same = again.end(again("r", call("walk", H, X, Var("cond", BOOL))))
    walk = function("walk", (X, Var("cond", BOOL)), If(Var("cond", BOOL), X, same, H))
    chain = Chain()
    r = chain("got", call("walk", H, X, Var("cond", BOOL)))
    p = program(function("forward", (X, Var("cond", BOOL)), chain.end(chain("out", op("tanh", r)))), walk)
    assert of(p).of == {"out": 0}


def mark(chain: Chain, name: str, value: Var) -> Var:
    return chain(name, Host("phase", (value,), value.type))


def test_markers_are_the_only_boundaries() -> None:
    chain = Chain()
    first = fold(chain, "first", chain("a", op("tanh", X)))
    second = fold(chain, "second", first)
    late = mark(chain, "late", second)
    b = chain("b", op("add", late, first))
    side = chain("side", op("tanh", first))
    third = fold(chain, "third", b)
    c = chain("c", op("add", mark(chain, "again", third), side))
    found = of(program(function("forward", (X, XS), chain.end(c))))
    assert found.of == {"a": 0, "first": 0, "second": 0, "b": 1, "side": 0, "third": 1, "c": 2}
    assert found.count == 3


def test_what_a_marker_holds_passes_on_through_lists_tuples_and_numbers() -> None:
    chain = Chain()
    xs = mark(chain, "late", XS)
    size = chain("size", host("list.len", INT, xs))
    scaled = chain("scaled", op("mul", X, chain("number", op("scalar", size, type=TensorT(())))))
    t = chain("t", Tuple((scaled, X), TupleT((H, H))))
    both = mark(chain, "both", t)
    out = chain("out", op("add", chain("right", Field(both, 1, H)), X))
    assert of(program(function("forward", (X, XS), chain.end(out)))).of == {"scaled": 1, "out": 2}


def test_a_wait_stands_in_the_phase_of_what_it_waits_for_and_decides_the_phase_of_the_branches() -> None:
    then, orelse, chain = Chain(), Chain(), Chain()
    score = chain("score", op("sum", chain("a", op("tanh", X)), dim=0, type=TensorT(())))
    number = chain("number", Item(mark(chain, "late", score), FLOAT))
    cond = chain("cond", host("gt", BOOL, number, lit(0.0)))
    before = then.end(then("before", op("tanh", X)))
    after = orelse.end(orelse("after", op("tanh", mark(orelse, "later", X))))
    p = program(function("forward", (X,), chain.end(If(cond, before, after, H))))
    assert of(p).of == {"a": 0, "score": 0, "number": 1, "before": 1, "after": 1}


def test_arms_of_a_marked_value() -> None:
    tree, children = Var("tree", DataT("Tree")), Var("children", ListT(DataT("Tree")))
    chain, one, many = Chain(), Chain(), Chain()
    late = mark(chain, "late", tree)
    leaf = one.end(one("w", op("tanh", X)))
    node = many.end(many("v", op("tanh", by_their_number(many, mark(many, "later", children)))))
    body = Match(late, (Arm("Leaf", (Var("word", INT),), leaf), Arm("Node", (children,), node)), H)
    p = program(function("forward", (X, tree), chain.end(body)), datatypes=TREES)
    assert of(p).of == {"w": 1, "scaled": 2, "v": 2}


def by_their_number(chain: Chain, children: Var) -> Var:
    """A tensor that is scaled by the number of children."""
    size = chain("number", op("scalar", chain("size", host("list.len", INT, children)), type=TensorT(())))
    return chain("scaled", op("mul", X, size))


def test_a_program_without_markers_has_no_phases_yet() -> None:
    p = treelstm()
    assert marked_phases(p, CallGraph(p)) == {}
