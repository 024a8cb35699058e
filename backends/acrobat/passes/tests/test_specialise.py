"""Parameter reuse: which functions are cloned, and which variables are replaced by weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.acrobat.analyses.tests.chain import Chain, H, W, call, function, host, lit, op, program, weight
from backends.acrobat.analyses.tests.models import birnn, treelstm
from backends.acrobat.core.types import BOOL, FLOAT, INT, ListT, TupleT, Type
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.nodes import (
    Call,
    Expr,
    Field,
    Fold,
    Function,
    If,
    Item,
    ListOf,
    Loop,
    Map,
    Op,
    Program,
    Tuple,
    Var,
    Weight,
)
from backends.acrobat.ir.printer import print_program
from backends.acrobat.ir.verifier import verify
from backends.acrobat.ir.visitor import walk
from backends.acrobat.passes import specialise
from backends.acrobat.passes.inline import run as inline

X, N, C, V, V2 = Var("x", H), Var("n", INT), Var("c", BOOL), Var("v", W), Var("v2", W)
XS = Var("xs", ListT(H))
A, B, D = weight("A"), weight("B"), weight("D")


def params(p: Program) -> dict[str, list[str]]:
    return {name: [v.name for v in f.params] for name, f in p.functions.items()}


def factors(f: Function) -> set[str]:
    """The names of the second operands of a function's products, with a `$` before those that are variables and not weights."""
    products = [node for node in walk(f.body) if isinstance(node, Op) and node.op == "linear"]
    return {("" if isinstance(node.args[1], Weight) else "$") + node.args[1].name for node in products}  # type: ignore[union-attr]


def recursive(name: str, weights: tuple[Var, ...], *callees: tuple[str, tuple[Var | Weight, ...]]) -> Function:
    """name(weights, x, n) multiplies x by all its weights and then, unless n is 0, calls `callees` in turn with n - 1."""
    chain, inner = Chain(), Chain()
    at = X
    for i, w in enumerate(weights):
        at = chain(f"y{i}", op("linear", at, w))
    zero = chain("zero", host("eq", BOOL, N, lit(0)))
    less = inner("less", host("sub", INT, N, lit(1)))
    end = at
    for i, (callee, args) in enumerate(callees):
        end = inner(f"z{i}", call(callee, H, *args, end, less))
    return function(name, (*weights, X, N), chain.end(If(zero, at, inner.end(end), H)))


def forward(*calls: tuple[str, tuple[Weight, ...]]) -> Function:
    chain, at = Chain(), X
    for i, (callee, args) in enumerate(calls):
        at = chain(f"r{i}", call(callee, H, *args, at, N))
    return function("forward", (X, N), chain.end(at))


def test_birnn_has_a_clone_for_each_direction_and_gathers_its_initial_states() -> None:
    p = specialise.run(inline(birnn(recursive=True)))
    assert params(p) == {"forward": ["words"], "scan": ["start", "xs"], "scan_1": ["start", "xs"]}
    assert [factors(p.functions[name]) for name in ("scan", "scan_1")] == [{"Wf"}, {"Wb"}]
    assert (p.functions["scan"].origin, p.functions["scan_1"].origin) == ("", "scan")
    assert {node.function for node in walk(p.functions["scan_1"].body) if isinstance(node, Call)} == {"scan_1"}
    starts = [node.args[0] for node in walk(p.functions["forward"].body) if isinstance(node, Call)]
    assert starts == [weight("start_f", H), weight("start_b", H)]


def test_birnn_as_loops_gathers_its_initial_states() -> None:
    p = specialise.run(inline(birnn(recursive=False)))
    folds = [node for node in walk(p.functions["forward"].body) if isinstance(node, Fold)]
    assert [fold.init[0] for fold in folds] == [weight("start_f", H), weight("start_b", H)]
    states = [node.args[2] for fold in folds for node in walk(fold.body) if isinstance(node, Op) and node.op == "linear"]
    assert states == [fold.vars[0] for fold in folds]


def test_without_cloning_weights_that_differ_are_gathered_and_others_are_not() -> None:
    p = specialise.run(inline(birnn(recursive=True)), clone=False)
    assert params(p)["scan"] == ["w", "start", "xs"] and factors(p.functions["scan"]) == {"$w"}
    same = program(forward(("f", (A,)), ("f", (A,))), recursive("f", (V,), ("f", (V,))), A=W)
    assert factors(specialise.run(same, clone=False).functions["f"]) == {"A"}


def test_bug_5_weights_of_two_parameters_that_do_not_go_together_are_kept_apart() -> None:
    """ACRoBat's original code, which has to check whether contexts agree between parameters, compares a set with itself. Here
    neither parameter alone tells the three different calls apart."""
    f = recursive("f", (V, V2), ("f", (V, V2)))
    p = specialise.run(program(forward(("f", (A, B)), ("f", (D, B)), ("f", (A, D)), ("f", (A, B))), f, A=W, B=W, D=W))
    assert params(p) == {"forward": ["x", "n"]} | {name: ["x", "n"] for name in ("f", "f_1", "f_2")}
    assert [factors(p.functions[name]) for name in ("f", "f_1", "f_2")] == [{"A", "B"}, {"D", "B"}, {"A", "D"}]
    assert [node.function for node in walk(p.functions["forward"].body) if isinstance(node, Call)] == ["f", "f_1", "f_2", "f"]


def test_mutual_recursion_is_cloned_together() -> None:
    functions = recursive("odd", (V,), ("even", (V,))), recursive("even", (V,), ("odd", (V,)))
    p = specialise.run(program(forward(("odd", (A,)), ("even", (B,))), *functions, A=W, B=W))
    assert {name: factors(f) for name, f in p.functions.items()} == {
        "forward": set(),
        "odd": {"A"},
        "even": {"A"},
        "odd_1": {"B"},
        "even_1": {"B"},
    }
    assert {node.function for node in walk(p.functions["odd_1"].body) if isinstance(node, Call)} == {"even_1"}


def test_weights_handed_down_a_long_chain_of_calls_reach_its_end() -> None:
    """ACRoBat's original code stops after two rounds of cloning."""
    depth = 6
    functions = [recursive(f"f{i}", (V,), (f"f{i}", (V,)), (f"f{i + 1}", (V,))) for i in range(depth)]
    last = recursive(f"f{depth}", (V,), (f"f{depth}", (V,)))
    p = specialise.run(program(forward(("f0", (A,)), ("f0", (B,))), *functions, last, A=W, B=W))
    assert len(p.functions) == 1 + 2 * (depth + 1)
    assert [factors(f) for f in p.functions.values() if (f.origin or f.name) == f"f{depth}"] == [{"A"}, {"B"}]


def test_clones_that_come_out_alike_are_one() -> None:
    """`g` gets A from `forward` and from `f`, which different rounds of cloning find; one clone serves both."""
    f, g = recursive("f", (V,), ("f", (V,)), ("g", (V,))), recursive("g", (V,), ("g", (V,)))
    p = specialise.run(program(forward(("f", (A,)), ("f", (B,)), ("g", (A,)), ("g", (B,))), f, g, A=W, B=W))
    assert sorted(str(sorted(factors(f))) for f in p.functions.values()) == ["['A']", "['A']", "['B']", "['B']", "[]"]


def test_a_weight_that_the_recursion_changes_is_gathered() -> None:
    swap = recursive("f", (V, V2), ("f", (V2, V)))
    p = specialise.run(program(forward(("f", (A, B)), ("f", (B, A))), swap, A=W, B=W))
    assert params(p)["f"] == ["v", "v2", "x", "n"] and list(p.functions) == ["forward", "f"]


def test_what_does_no_tensor_work_is_not_cloned() -> None:
    n = Chain()
    less = n("less", host("sub", INT, N, lit(1)))
    body = If(C, V, n.end(call("pick", W, V, less, C)), W)
    top = Chain()
    a, b = top("a", call("pick", W, A, N, C)), top("b", call("pick", W, B, N, C))
    out = top("out", op("linear", top("y", op("linear", X, a)), b))
    p = specialise.run(program(function("forward", (X, N, C), top.end(out)), function("pick", (V, N, C), body), A=W, B=W))
    assert list(p.functions) == ["forward"]  # each call always gives its own weight, so it is not called at all
    assert factors(p.functions["forward"]) == {"A", "B"}


def test_a_function_without_tensor_work_serves_all_its_callers() -> None:
    top = Chain()
    a, b = top("a", call("pick", W, A, C)), top("b", call("pick", W, B, C))
    out = top("out", op("linear", top("y", op("linear", X, a)), b))
    p = program(function("forward", (X, C), top.end(out)), function("pick", (V, C), If(C, V, D, W)), A=W, B=W, D=W)
    assert list(specialise.run(p).functions) == ["forward", "pick"]


def test_the_number_of_clones_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specialise, "FUNCTIONS", 3)
    before = program(forward(("f", (A,)), ("f", (B,)), ("f", (D,))), recursive("f", (V,), ("f", (V,))), A=W, B=W, D=W)
    with pytest.warns(UserWarning, match="f is not cloned for each set of weights .* has 3 functions already, of at most 3"):
        p = specialise.run(before)
    assert {name: factors(f) for name, f in p.functions.items()} == {"forward": set(), "f": {"$v"}, "f_1": {"B"}}


def test_lists_of_one_weight_stay_lists() -> None:
    each = Var("each", W)
    chain, inner = Chain(), Chain()
    ws = chain("ws", ListOf((A, A), ListT(W)))
    out = chain("out", Map(each, ws, inner.end(inner("y", op("linear", X, each))), ListT(H)))
    p = specialise.run(program(function("forward", (X,), chain.end(out)), A=W))
    assert factors(p.functions["forward"]) == {"A"}
    assert any(isinstance(node, Map) and node.iterable == ws for node in walk(p.functions["forward"].body))


def carried(tail: str) -> tuple[Expr, TupleT]:
    """The body, and its type, of a loop over (v, x) that passes v on and multiplies x by it. `tail`: how the body ends."""
    t = TupleT((W, H))
    chain, other = Chain(), Chain()
    if tail == "tuple":
        return chain.end(Tuple((V, chain("new", op("linear", X, V))), t)), t
    if tail == "if":
        then = chain.end(Tuple((V, chain("new", op("linear", X, V))), t))
        return If(C, then, other.end(Tuple((V, X), t)), t), t
    return chain.end(call("both", t, V, chain("new", op("linear", X, V)))), t


@pytest.mark.parametrize("tail", ["tuple", "if", "call"])
@pytest.mark.parametrize("kind", ["fold", "loop"])
def test_a_weight_is_no_longer_carried_by_a_loop_that_never_changes_it(kind: str, tail: str) -> None:
    body, t = carried(tail)
    start = Var("start", H)
    loop: Expr = Fold(Var("e", H), XS, (V, X), (A, start), body, t)
    if kind == "loop":
        loop = Loop((V, X), (A, start), C, body, t)
    chain = Chain()
    r = chain("r", loop)
    out = chain("out", op("linear", chain("last", Field(r, 1, H)), chain("w", Field(r, 0, W))))
    both = function("both", (V, X), Tuple((V, X), t))
    p = specialise.run(program(function("forward", (start, XS, C), chain.end(out)), both, A=W))
    (found,) = [node for node in walk(p.functions["forward"].body) if isinstance(node, Fold | Loop)]
    assert found.vars == (X,) and found.type == TupleT((H,)) and found.init == (start,)
    assert factors(p.functions["forward"]) == {"A"}


def test_a_weight_in_a_tuple_argument() -> None:
    t: Type = TupleT((W, H))
    pair = Var("pair", t)
    body, inner, top = Chain(), Chain(), Chain()
    v, x = body("v", Field(pair, 0, W)), body("x0", Field(pair, 1, H))
    y = body("y", op("linear", x, v))
    again = inner("again", Tuple((v, y), t))
    f = function("f", (pair, C), body.end(If(C, y, inner.end(call("f", H, again, C)), H)))
    one, two = top("one", Tuple((A, X), t)), top("two", Tuple((B, X), t))
    out = top("out", op("add", top("a", call("f", H, one, C)), top("b", call("f", H, two, C))))
    p = specialise.run(program(function("forward", (X, C), top.end(out)), f, A=W, B=W))
    assert {name: factors(f) for name, f in p.functions.items()} == {"forward": set(), "f": {"A"}, "f_1": {"B"}}


def test_a_call_that_always_gives_one_weight_is_still_made_if_it_waits() -> None:
    inner, top = Chain(), Chain()
    inner("value", Item(X, FLOAT))
    picked = top("picked", call("pick", W, X, A))
    out = top("out", op("linear", X, picked))
    p = specialise.run(program(function("forward", (X,), top.end(out)), function("pick", (X, V), inner.end(V)), A=W))
    assert factors(p.functions["forward"]) == {"A"} and params(p)["pick"] == ["x"]


def test_treelstm_is_left_as_it_is() -> None:
    p = inline(treelstm())
    assert specialise.run(p) == p


@st.composite
def families(draw: st.DrawFn) -> Program:
    """Recursive functions that pass weights to each other: their own in any order, or other ones."""
    weights = [A, B, D]
    arity = {f"f{i}": draw(st.integers(1, 2)) for i in range(draw(st.integers(1, 3)))}

    def args(name: str, own: tuple[Var, ...]) -> tuple[Var | Weight, ...]:
        choices: list[Var | Weight] = [*own, *own, *weights]
        return tuple(draw(st.sampled_from(choices)) for _ in range(arity[name]))

    functions = []
    for name, count in arity.items():
        own = (V, V2)[:count]
        callees = draw(st.lists(st.sampled_from(sorted(arity)), max_size=2))
        functions.append(recursive(name, own, *((callee, args(callee, own)) for callee in callees)))
    calls = draw(st.lists(st.sampled_from(sorted(arity)), min_size=1, max_size=4))
    inner = forward(*((name, tuple(draw(st.sampled_from(weights)) for _ in range(arity[name]))) for name in calls))
    instance = Var("instance", TupleT((H, INT)))
    chain = Chain()
    chain(X.name, Field(instance, 0, H))
    chain(N.name, Field(instance, 1, INT))
    entry = function("forward", (instance,), chain.end(inner.body))
    random = np.random.default_rng(0)
    values = {name: random.uniform(-1, 1, (4, 4)).astype(np.float32) for name in "ABD"}
    return replace(program(entry, *functions, A=W, B=W, D=W), values=values)


@settings(max_examples=150, deadline=None)
@given(families())
def test_families_of_recursive_functions_mean_the_same(p: Program) -> None:
    instance = (np.ones(4, np.float32), 3)
    before = Interpreter(p).run(instance)
    for clone in (True, False):
        after = specialise.run(p, clone)
        verify(after)
        np.testing.assert_allclose(Interpreter(after).run(instance), before, rtol=1e-12)
        again = specialise.run(after, clone)
        assert print_program(again) == print_program(after)


def test_cloning_without_an_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specialise, "_cloned", lambda p: replace(p))
    with pytest.raises(RuntimeError, match="still clones functions after as many rounds as it can need"):
        specialise.run(treelstm())
