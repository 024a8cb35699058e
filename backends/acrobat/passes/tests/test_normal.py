"""Normal form: flat chains, no copies, known tuples and branches resolved, all work bound; and the removal of unused code."""

from __future__ import annotations

from backends.acrobat.analyses.tests.chain import Chain, H, W, call, function, host, lit, op, pair, program, weight
from backends.acrobat.core.types import BOOL, FLOAT, INT, DataT, ListT, TupleT
from backends.acrobat.ir.nodes import Arm, Construct, Derived, Expr, Field, Fold, If, Item, Let, Lit, Map, Match, Tuple, Var
from backends.acrobat.ir.visitor import lets
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.normal import normalise

X, Y = Var("x", H), Var("y", H)
N, C = Var("n", INT), Var("c", BOOL)
XS = Var("xs", ListT(H))
STACK = DataT("Stack")


def normal(body: Expr) -> Expr:
    return normalise(function("forward", (X, Y, N, C, XS), body)).body


def test_nested_lets_are_flat_and_copies_gone() -> None:
    inner = Let(Var("a", H), op("tanh", X), Let(Var("b", H), Var("a", H), op("relu", Var("b", H))))
    body = normal(Let(Var("c2", H), inner, Let(Var("d", H), Var("c2", H), op("add", Var("d", H), Y))))
    bindings, result = lets(body)
    assert bindings == [
        (Var("a", H), op("tanh", X)),
        (Var("c2", H), op("relu", Var("a", H))),
        (Var("result", H), op("add", Var("c2", H), Y)),
    ]
    assert result == Var("result", H)


def test_components_of_a_known_tuple() -> None:
    chain = Chain()
    t = chain("t", Tuple((X, Y), pair(H, H)))
    copy = chain("copy", t)
    second = chain("second", Field(copy, 1, H))
    bindings, result = lets(normal(chain.end(second)))
    assert result == Y and all(not isinstance(value, Field) for _, value in bindings)


def test_a_literal_condition_takes_its_branch() -> None:
    chain = Chain()
    v = chain("v", If(Lit(False, BOOL), op("tanh", X), op("relu", X), H))
    assert normal(chain.end(v)) == Let(Var("v", H), op("relu", X), Var("v", H))
    assert normal(If(Lit(True, BOOL), X, Y, H)) == X


def test_a_known_case_takes_its_arm() -> None:
    value, below, w = Var("value", H), Var("below", STACK), Var("w", W)
    chain = Chain()
    empty = chain("empty", Construct("Empty", (), STACK))
    one = chain("one", Construct("Push", (X, empty, weight("a")), STACK))
    arms = (Arm("Empty", (), Y), Arm("Push", (value, below, w), op("linear", value, w)))
    body = normalise(function("forward", (X, Y), chain.end(Match(one, arms, H)))).body
    bindings, _ = lets(body)
    assert bindings[-1] == (Var("result", H), op("linear", X, weight("a")))


def test_work_at_the_end_of_every_body_is_named() -> None:
    each = Var("each", H)
    branch = If(C, op("tanh", X), Map(each, XS, op("relu", each), ListT(H)), H)
    body = normal(branch)
    assert isinstance(body, If)
    then, orelse = lets(body.then), lets(body.orelse)
    assert then == ([(Var("result", H), op("tanh", X))], Var("result", H))
    (mapped,), _ = orelse
    assert isinstance(mapped[1], Map) and isinstance(mapped[1].body, Let)


def test_a_loop_body_ends_in_its_components() -> None:
    e, s, t = Var("e", H), Var("s", H), Chain()
    both = t("both", Tuple((t("new", op("add", s, e)),), TupleT((H,))))
    body = normal(Fold(e, XS, (s,), (X,), t.end(both), TupleT((H,))))
    assert isinstance(body, Let) and isinstance(body.value, Fold)
    assert lets(body.value.body)[1] == Tuple((Var("new", H),), TupleT((H,)))


def test_own_names_stay() -> None:
    chain = Chain()
    result = chain("result", op("tanh", X))
    more = chain("result_1", op("relu", result))
    body = chain.end(op("add", more, Y))
    names = [var.name for var, _ in lets(normal(body))[0]]
    assert names == ["result", "result_1", "result_2"]


def test_long_chains_cost_no_recursion() -> None:
    chain, at = Chain(), X
    for i in range(5000):
        at = chain(f"v{i}", op("tanh", at))
    p = program(function("forward", (X,), chain.end(at)))
    assert len(lets(remove_dead(p).functions["forward"].body)[0]) == 5000
    assert len(lets(normalise(p.functions["forward"]).body)[0]) == 5000


def test_unused_bindings_go_with_what_only_they_use() -> None:
    chain = Chain()
    a = chain("a", op("tanh", X))
    chain("b", op("relu", a))
    used = chain("used", op("relu", X))
    p = remove_dead(program(function("forward", (X, N), chain.end(used))))
    forward = p.functions["forward"]
    assert forward.body == Let(Var("used", H), op("relu", X), Var("used", H))
    assert forward.params == (X, N)  # the entry's


def test_waits_stay_and_what_they_wait_for() -> None:
    """Simulated decisions wait for a score and then do not read it, so waits must stay although nothing uses the number."""
    chain, inner, each = Chain(), Chain(), Var("each", H)
    inner("value", Item(inner("score", op("sum", X)), FLOAT))
    decide = function("decide", (X, N), inner.end(N))
    chain("own", Item(chain("a", op("tanh", X)), FLOAT))
    chain("number", call("decide", INT, Y, N))
    chain("numbers", Map(each, XS, call("decide", INT, each, N), ListT(INT)))
    chain("unused", op("relu", X))
    p = remove_dead(program(function("forward", (X, Y, N, XS), chain.end(X)), decide))
    names = [var.name for var, _ in lets(p.functions["forward"].body)[0]]
    assert names == ["a", "own", "number", "numbers"]
    assert [var.name for var, _ in lets(p.functions["decide"].body)[0]] == ["score", "value"]


def test_a_parameter_that_a_recursion_only_hands_on_is_unused() -> None:
    w, again = Var("w", W), Chain()
    zero = again("zero", host("eq", BOOL, N, lit(0)))
    less = again("less", host("sub", INT, N, lit(1)))
    body = again.end(If(zero, X, call("f", H, w, X, less), H))
    p = program(
        function("forward", (X, N), call("f", H, weight("a"), X, N)),
        function("f", (w, X, N), body),
        function("unused", (X,), X),
        a=W,
    )
    p = remove_dead(p)
    assert list(p.functions) == ["forward", "f"]
    assert p.functions["f"].params == (X, N)
    assert p.functions["forward"].body == call("f", H, X, N)
    assert not p.weights


def test_a_parameter_stays_while_a_loop_or_a_branch_needs_it() -> None:
    w, e, s = Var("w", W), Var("e", H), Var("s", H)
    step = Chain()
    fold = Fold(e, XS, (s,), (X,), step.end(Tuple((step("t", op("linear", s, w)),), TupleT((H,)))), TupleT((H,)))
    chain = Chain()
    last = chain("last", Field(chain("loop", fold), 0, H))
    f = function("f", (w, X, XS), chain.end(last))
    p = program(function("forward", (X, XS), call("f", H, weight("a"), X, XS)), f, a=W)
    assert remove_dead(p) == p


def test_weights_stay_while_a_derived_one_needs_them() -> None:
    p = program(function("forward", (X,), op("linear", X, weight("sum"))), a=W, b=W, sum=W, other=W, unused=W)
    derived = {"sum": Derived("add", ("a", "b"), ()), "unused": Derived("neg", ("other",), ())}
    kept = remove_dead(type(p)(p.functions, {}, p.weights, derived))
    assert set(kept.weights) == {"a", "b", "sum"} and set(kept.derived) == {"sum"}
