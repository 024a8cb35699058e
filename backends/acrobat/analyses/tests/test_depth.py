"""Static depths: which work is hoisted, which is dynamic by recursion and loops, and that work stands after what it uses."""

from __future__ import annotations

import pytest

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.depth import StaticDepths, static_depths
from backends.acrobat.analyses.tests.chain import TABLE, Chain, H, call, function, host, lit, op, pair, program, weight
from backends.acrobat.analyses.tests.models import birnn, treelstm
from backends.acrobat.core.types import BOOL, FLOAT, INT, ListT, TensorT, TupleT
from backends.acrobat.core.units import Instr, Kernel, Mode, Param
from backends.acrobat.ir.make import make_op
from backends.acrobat.ir.nodes import Field, Fold, If, Item, Launch, ListOf, Map, Op, Program, Tuple, Var

X = Var("x", H)
XS = Var("xs", ListT(H))


def depths(p: Program) -> StaticDepths:
    return static_depths(p, CallGraph(p))


def test_treelstm_leaf_projection_is_hoisted() -> None:
    static = depths(treelstm())
    assert static.depths == {("encode", "projected"): 0, ("encode", "h"): 1}
    assert static.max_static == 1


@pytest.mark.parametrize("recursive", [False, True])
def test_birnn_projection_of_inputs_is_hoisted_out_of_the_scan(recursive: bool) -> None:
    static = depths(birnn(recursive))
    assert static.depths == {("scan", "projected"): 0}
    assert static.dynamic("forward", "forwards") and not static.dynamic("forward", "reversed")


def test_bug_1_dynamic_depths_start_after_all_static_ones() -> None:
    """ACRoBat's original code counts from 0 again after a wait: work then ran before hoisted work that it uses."""
    assert depths(treelstm()).base == 2
    p = program(function("forward", (X,), X))
    assert depths(p).base == 0 and depths(p).max_static == -1


def test_bug_2_work_stands_below_its_deepest_operand() -> None:
    """ACRoBat's original code gives a group of operations the least of their depths, so it could run before its operands."""
    chain = Chain()
    a = chain("a", op("tanh", X))
    b = chain("b", op("tanh", a))
    chain("c", op("add", X, b))
    p = program(function("forward", (X,), chain.end(chain("d", op("add", a, Var("c", H))))))
    assert depths(p).depths == {("forward", "a"): 0, ("forward", "b"): 1, ("forward", "c"): 2, ("forward", "d"): 3}


def test_bug_3_an_empty_list_of_elements_gives_no_depth_from_nothing() -> None:
    """ACRoBat's original code takes a minimum over no elements. Here a sum over an empty list has depth 0, its users 1."""
    chain = Chain()
    empty = chain("empty", ListOf((), ListT(H)))
    each = Var("each", H)
    mapped = chain("mapped", Map(each, empty, op("tanh", each), ListT(H)))
    total = chain("total", op("list_sum", mapped, nonempty=False))
    out = chain("out", op("tanh", total))
    assert depths(program(function("forward", (X,), chain.end(out)))).depths == {("forward", "total"): 0, ("forward", "out"): 1}


def test_a_function_of_its_own_result_is_dynamic() -> None:
    """Call sites are joined, so in `f(f(x))` the depth rises for ever, as in a recursion."""
    inner, outer = Chain(), Chain()
    once = outer("once", call("f", H, X))
    p = program(
        function("f", (X,), inner.end(inner("y", op("tanh", X)))),
        function("forward", (X,), outer.end(outer("twice", call("f", H, once)))),
    )
    assert depths(p).depths == {} and depths(p).dynamic("forward", "twice")


def test_a_work_with_two_call_sites_has_one_depth_and_its_users_see_it() -> None:
    """If contexts were joined only at the end, `late` would stand at 1, before its operand, whose work has depth 3."""
    n = Var("n", INT)
    inner = Chain()
    y = inner("y", op("tanh", X))
    zero = inner("zero", host("eq", BOOL, n, lit(0)))
    again = call("f", H, X, n)
    body = inner.end(If(zero, y, again, H))
    top = Chain()
    first = top("first", call("f", H, Var("x", H), n))
    late = top("late", op("tanh", first))
    later = top("later", op("tanh", late))
    second = top("second", call("f", H, later, n))
    p = program(function("forward", (X, n), top.end(second)), function("f", (X, n), body))
    static = depths(p)
    at = static.depths.get(("f", "y"))
    assert at is None and ("forward", "late") not in static.depths  # late needs y, and y needs later


def test_unnamed_work_is_dynamic_and_so_are_its_users() -> None:
    top = Chain()
    r = top("r", call("f", H, X))
    out = top("out", op("tanh", r))
    p = program(function("forward", (X,), top.end(out)), function("f", (X,), op("tanh", X)))
    assert depths(p).depths == {}


def test_elements_of_a_map_share_a_depth_and_those_of_a_fold_do_not() -> None:
    e, state = Var("e", H), Var("state", H)
    chain, each, step = Chain(), Chain(), Chain()
    mapped = chain("mapped", Map(e, XS, each.end(each("m", op("tanh", e))), ListT(H)))
    e2 = Var("e2", H)
    body = step.end(Tuple((step("s", op("add", state, e2)),), TupleT((H,))))
    folded = chain("folded", Fold(e2, mapped, (state,), (X,), body, TupleT((H,))))
    last = chain("last", Field(folded, 0, H))
    total = chain("total", op("list_sum", mapped, nonempty=True))
    p = program(function("forward", (X, XS), chain.end(Tuple((last, total), pair(H, H)))))
    assert depths(p).depths == {("forward", "m"): 0, ("forward", "total"): 1}


def test_a_loop_that_only_hands_on_stays_static() -> None:
    """Two variables that a loop exchanges: their depths rise a few times and then no more."""
    e, a, b = Var("e", INT), Var("a", H), Var("b", H)
    chain = Chain()
    y = chain("y", op("tanh", X))
    types = pair(H, H)
    swapped = chain("swapped", Fold(e, Var("ns", ListT(INT)), (a, b), (X, y), Tuple((b, a), types), types))
    first = chain("first", Field(swapped, 0, H))
    out = chain("out", op("tanh", first))
    p = program(function("forward", (X, Var("ns", ListT(INT))), chain.end(out)))
    assert depths(p).depths == {("forward", "y"): 0, ("forward", "out"): 1}


def test_straight_lines_have_no_cap() -> None:
    chain, at = Chain(), X
    for i in range(400):
        at = chain(f"v{i}", op("tanh", at))
    assert depths(program(function("forward", (X,), chain.end(at)))).max_static == 399


def test_the_number_from_a_wait_is_known_when_it_is_used() -> None:
    chain = Chain()
    score = chain("score", op("sum", X, type=TensorT(())))
    number = chain("number", Item(score, FLOAT))
    scaled = chain("scaled", Op("mul", (X, number), (), H))
    assert depths(program(function("forward", (X,), chain.end(scaled)))).depths[("forward", "scaled")] == 0


def test_launches_count_one_level_each() -> None:
    body = (Instr("t", "tanh", ("p",), (), H), Instr("u", "tanh", ("t",), (), H))
    kernel = Kernel("k", (Param("p", H, Mode.GATHERED),), body, ("t", "u"))
    chain = Chain()
    both = chain("both", Launch(kernel, (X,), pair(H, H)))
    u = chain("u", Field(both, 1, H))
    out = chain("out", Launch(Kernel("l", kernel.params, body[:1], ("t",)), (u,), H))
    static = depths(program(function("forward", (X,), chain.end(out)), datatypes={}))
    assert static.depths == {("forward", "both"): 0, ("forward", "out"): 1}


def test_views_and_addresses_cost_no_level() -> None:
    chain = Chain()
    row = chain("row", op("row", weight("table", TABLE), lit(1)))
    half = chain("half", make_op("slice", (row,), {"dim": 0, "start": 2, "stop": 4}))
    out = chain("out", make_op("tanh", (half,)))
    assert depths(program(function("forward", (X,), chain.end(out)))).depths == {("forward", "out"): 0}


def test_weights_stand_at_the_bottom() -> None:
    chain = Chain()
    out = chain("out", op("linear", weight("start", H), weight("W")))
    assert depths(program(function("forward", (X,), chain.end(out)))).depths == {("forward", "out"): 0}
