"""Sourcess of values: variables that are always one weight, or one at first only, and facts that are kept apart by context."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from backends.acrobat.analyses.callgraph import CallGraph, CallSite
from backends.acrobat.analyses.sources import OTHER, Sources, weight_sources
from backends.acrobat.analyses.tests.chain import STACKS, Chain, H, W, call, function, op, pair, program, weight
from backends.acrobat.analyses.tests.models import birnn
from backends.acrobat.core.types import BOOL, DataT, ListT
from backends.acrobat.ir.nodes import Arm, Construct, Expr, Field, If, ListOf, Map, Match, Program, Tuple, Var, Weight

X = Var("x", H)


def facts(p: Program) -> Mapping[str, tuple[Sources, ...]]:
    return weight_sources(p, CallGraph(p)).values_in("forward")


def of(value: Expr) -> tuple[Sources, ...]:
    chain = Chain()
    return facts(program(function("forward", (X,), chain.end(chain("v", value))), datatypes=STACKS))["v"]


@pytest.mark.parametrize("recursive", [False, True])
def test_birnn_weights_are_shared_in_each_context_and_the_initial_state_is_gathered(recursive: bool) -> None:
    p = birnn(recursive)
    found = weight_sources(p, CallGraph(p))
    assert {site for site, name in found.results if name == "scan"} == {CallSite("forward", 0), CallSite("forward", 1)}
    for site, cell in ((CallSite("forward", 0), "Wf"), (CallSite("forward", 1), "Wb")):
        assert found.at(site, "scan", "w") == (Sources(frozenset({cell}), False),)
    state = "start" if recursive else "state"
    assert found.at(CallSite("forward", 0), "scan", state) == (Sources(frozenset({"start_f"}), True),)
    merged = found.values_in("scan")
    assert merged["w"] == (Sources(frozenset({"Wf", "Wb"}), False),)
    assert merged["w"][0].only is None and merged[state][0].only is None


def test_branches_join() -> None:
    cond = Var("c", BOOL)
    two = If(cond, weight("a"), weight("b"), W)
    one = If(cond, weight("a"), weight("a"), W)
    mixed = If(cond, weight("a", H), X, H)
    for value, shared in ((two, None), (one, "a"), (mixed, None)):
        chain = Chain()
        body = chain.end(chain("v", value))
        p = program(function("forward", (X, cond), body))
        assert facts(p)["v"][0].only == shared


def test_components_of_a_tuple_keep_apart() -> None:
    chain = Chain()
    t = chain("t", Tuple((weight("a"), weight("b")), pair(W, W)))
    second = chain("second", Field(t, 1, W))
    found = facts(program(function("forward", (X,), chain.end(second))))
    assert [leaf.only for leaf in found["t"]] == ["a", "b"]
    assert found["second"][0].only == "b"


def test_fields_of_a_union_keep_apart_and_nesting_joins() -> None:
    """A stack of two elements: `value` is computed in one and a weight in the other, `weight` is one weight in both."""
    stack = DataT("Stack")
    chain = Chain()
    empty = chain("empty", Construct("Empty", (), stack))
    one = chain("one", Construct("Push", (weight("start", H), empty, weight("a")), stack))
    two = chain("two", Construct("Push", (X, one, weight("a")), stack))
    value, below, w = Var("value", H), Var("below", stack), Var("w", W)
    nothing = Tuple((weight("start", H), weight("a")), pair(H, W))
    push = Arm("Push", (value, below, w), Tuple((value, w), pair(H, W)))
    top = chain("top", Match(two, (Arm("Empty", (), nothing), push), pair(H, W)))
    found = facts(program(function("forward", (X,), chain.end(top)), datatypes=STACKS))
    assert found["value"] == (Sources(frozenset({"start"}), True),)
    assert found["w"][0].only == "a"
    assert [leaf.only for leaf in found["top"]] == [None, "a"]
    assert found["below"] == found["two"]


def test_elements_of_a_list_join_and_an_empty_list_says_nothing() -> None:
    assert of(ListOf((weight("a"), weight("a")), ListT(W)))[0].only == "a"
    assert of(ListOf((weight("a"), weight("b")), ListT(W)))[0].only is None
    assert of(ListOf((), ListT(W))) == (Sources(frozenset(), False),)


def test_work_on_weights_is_no_weight() -> None:
    assert of(op("add", weight("a", H), weight("a", H))) == (OTHER,)
    assert of(Map(Var("e", H), Weight("xs", H), op("neg", Var("e", H)), ListT(H))) == (OTHER,)


def test_fixpoint_needs_more_rounds_than_the_original_has() -> None:
    """A recursion rotates 40 parameters: each weight reaches the first. ACRoBat's original code stops after ten rounds."""
    count = 40
    params = tuple(Var(f"p{i}", W) for i in range(count))
    chain = Chain()
    again = chain("again", call("rotate", W, *params[1:], params[0]))
    top = Chain()
    start = top("start", call("rotate", W, *(weight(f"w{i}") for i in range(count))))
    p = program(function("forward", (X,), top.end(start)), function("rotate", params, chain.end(again)))
    assert weight_sources(p, CallGraph(p)).values_in("rotate")["p0"] == (
        Sources(frozenset(f"w{i}" for i in range(count)), False),
    )


def test_mutual_recursion_stays_in_the_context_that_entered_it() -> None:
    w = Var("w", W)
    ping, pong = Chain(), Chain()
    first = function("ping", (w, X), ping.end(ping("r", call("pong", H, w, X))))
    second = function("pong", (w, X), pong.end(pong("r", call("ping", H, w, X))))
    top = Chain()
    top("a", call("ping", H, weight("a"), X))
    b = top("b", call("ping", H, weight("b"), X))
    p = program(function("forward", (X,), top.end(b)), first, second)
    found = weight_sources(p, CallGraph(p))
    assert found.at(CallSite("forward", 0), "pong", "w")[0].only == "a"
    assert found.at(CallSite("forward", 1), "ping", "w")[0].only == "b"
