"""Which uses of `parallel` are problems: programs of each kind by hand, and random straight-line code against reachability.

The messages for the user's source are tested in backends/acrobat/tests/test_marker_errors.py."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.independence import dependent
from backends.acrobat.analyses.tests.chain import Chain, H, call, function, host, op, pair, program
from backends.acrobat.core.types import BOOL, ListT, TupleT
from backends.acrobat.ir.nodes import Atom, Expr, Field, Fold, Function, If, ListOf, Map, Tuple, Var

X, Y = Var("x", H), Var("y", H)
XS = Var("xs", ListT(H))
TAKEN = Var("taken", BOOL)


def both(a: Atom, b: Atom) -> Expr:
    return host("parallel", TupleT((a.type, b.type)), a, b)


def wrong(chain: Chain, tail: Expr, *others: Function) -> bool:
    """Whether a program whose entry has this chain as its body has a problem."""
    p = program(function("forward", (X, Y, XS, TAKEN), chain.end(tail)), *others)
    return bool(dependent(p, CallGraph(p)))


def test_one_that_uses_the_other() -> None:
    for first in (True, False):
        chain = Chain()
        a = chain("a", op("tanh", X))
        b = chain("b", op("tanh", a))
        assert wrong(chain, both(a, b) if first else both(b, a))


def test_two_that_use_the_same() -> None:
    chain = Chain()
    common = chain("common", op("tanh", X))
    a, b = chain("a", op("exp", common)), chain("b", op("neg", common))
    assert not wrong(chain, both(a, b))


def test_what_was_given_may_be_used() -> None:
    """An argument of `parallel` that is a parameter of the function was computed before."""
    chain = Chain()
    a = chain("a", op("tanh", X))
    assert not wrong(chain, both(X, a))


def test_a_use_inside_a_branch_counts() -> None:
    for used in (True, False):
        chain = Chain()
        a = chain("a", op("tanh", X))
        inner = Chain()
        b = chain("b", If(TAKEN, inner.end(inner("c", op("neg", a if used else Y))), X, H))
        assert wrong(chain, both(a, b)) == used


def test_components_of_a_call_are_told_apart_inside_the_function() -> None:
    for uses in (True, False):
        inside = Chain()
        c = inside("c", op("tanh", Var("p", H)))
        d = inside("d", op("exp", c if uses else Var("p", H)))
        cell = function("cell", (Var("p", H),), inside.end(Tuple((c, d), pair(H, H))))
        chain = Chain()
        result = chain("result", call("cell", pair(H, H), X))
        a, b = chain("first", Field(result, 0, H)), chain("second", Field(result, 1, H))
        assert wrong(chain, both(a, b), cell) == uses


def test_elements_of_a_comprehension_are_independent_and_those_of_a_chain_are_not() -> None:
    for chained in (True, False):
        chain = Chain()
        if chained:
            e, state, out = Var("e", H), Var("state", H), Var("out", ListT(H))
            body = Chain()
            new = body("new", op("add", e, state))
            more = body("more", host("list.append", ListT(H), out, new))
            carried = pair(H, ListT(H))
            empty = chain("empty", ListOf((), ListT(H)))
            loop = chain("loop", Fold(e, XS, (state, out), (X, empty), body.end(Tuple((new, more), carried)), carried))
            made = chain("made", Field(loop, 1, ListT(H)))
        else:
            body = Chain()
            made = chain("made", Map(Var("e", H), XS, body.end(body("new", op("tanh", Var("e", H)))), ListT(H)))
        assert wrong(chain, host("parallel", ListT(H), made)) == chained


def test_a_list_that_is_written_out() -> None:
    for uses in (True, False):
        chain = Chain()
        a = chain("a", op("tanh", X))
        b = chain("b", op("neg", a if uses else Y))
        made = chain("made", ListOf((a, b), ListT(H)))
        assert wrong(chain, host("parallel", ListT(H), made)) == uses


@st.composite
def straight(draw: st.DrawFn) -> tuple[list[tuple[int, int]], int, int]:
    """(operands, a, b): random operations, each with the indices of its two operands among the two inputs and the operations
    before it; and the numbers of two different operations."""
    count = draw(st.integers(2, 12))
    operands = [(draw(st.integers(0, i + 1)), draw(st.integers(0, i + 1))) for i in range(count)]
    a, b = draw(st.lists(st.integers(0, count - 1), min_size=2, max_size=2, unique=True))
    return operands, a, b


@settings(deadline=None, max_examples=200)
@given(straight())
def test_straight_code_is_judged_as_reachability_is(code: tuple[list[tuple[int, int]], int, int]) -> None:
    operands, a, b = code
    chain = Chain()
    made: list[Var] = [X, Y]
    reaches: list[set[int]] = [set(), set()]
    for i, (left, right) in enumerate(operands):
        made.append(chain(f"v{i}", op("add", made[left], made[right])))
        reaches.append({left, right} | reaches[left] | reaches[right])
    expected = a + 2 in reaches[b + 2] or b + 2 in reaches[a + 2]
    assert wrong(chain, both(made[a + 2], made[b + 2])) == expected


def test_the_message_has_the_chain_and_the_advice() -> None:
    chain = Chain()
    a = chain("a", op("tanh", X))
    b = chain("b", op("tanh", a))
    p = program(function("forward", (X, Y, XS, TAKEN), chain.end(both(b, a))))
    (problem,) = dependent(p, CallGraph(p))
    assert "is not independent of" in problem.message and "leave `parallel` out" in problem.advice
