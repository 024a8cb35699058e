"""The engine of the forward analyses, with lattices that are made for these tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings

from backends.acrobat.analyses.callgraph import CallGraph, CallSite
from backends.acrobat.analyses.engine import Solution, _Fixpoint, analyse
from backends.acrobat.analyses.lattice import Value
from backends.acrobat.analyses.tests.chain import STACKS, Chain, H, W, call, function, host, lit, op, pair, program, weight
from backends.acrobat.core.types import BOOL, INT, DataT, ListT, TensorT, TupleT
from backends.acrobat.ir.nodes import (
    Arm,
    Construct,
    Field,
    Fold,
    If,
    ListOf,
    Lit,
    Loop,
    Map,
    Match,
    Program,
    Tuple,
    Var,
    Weight,
)
from backends.acrobat.ir.tests.programs import programs

X, N = Var("x", H), Var("n", INT)
STACK = DataT("Stack")
Names = frozenset[str]


class Sources:
    """Which weights, literals or instances a value may have been computed from: sets of names, joined by union."""

    bottom: Names = frozenset()

    def join(self, a: Names, b: Names) -> Names:
        return a | b

    def widen(self, value: Names, rises: int) -> Names:
        return value

    def instance(self) -> Names:
        return frozenset({"instance"})

    def literal(self, lit: Lit) -> Names:
        return frozenset({str(lit.value)})

    def weight(self, weight: Weight) -> Names:
        return frozenset({weight.name})

    def work(self, node: Any, args: Sequence[Value[Names]], place: Any) -> Names:
        return frozenset().union(*(leaf for arg in args for leaf in arg))

    def host(self, node: Any, args: Sequence[Names]) -> Names:
        return frozenset().union(*args)

    def item(self, node: Any, tensor: Names) -> Names:
        return tensor


class Largest(Sources):
    """The largest int that a scalar may be: a lattice of unbounded height. A value that rises a fourth time is widened."""

    bottom: Any = 0
    unbounded = 1 << 40

    def join(self, a: Any, b: Any) -> Any:
        return max(a, b)

    def widen(self, value: Any, rises: int) -> Any:
        return self.unbounded if rises > 3 else value

    def instance(self) -> Any:
        return 0

    def literal(self, lit: Lit) -> Any:
        return int(lit.value)

    def weight(self, weight: Weight) -> Any:
        return 0

    def work(self, node: Any, args: Any, place: Any) -> Any:
        return 0

    def host(self, node: Any, args: Any) -> Any:
        return min(sum(args), self.unbounded) if node.op == "add" else 0


def found(p: Program, contexts: bool = True) -> Solution[Names]:
    return analyse(p, Sources(), CallGraph(p), contexts)


def names(*each: str) -> tuple[Names, ...]:
    """A value of one leaf for each argument, in which names are separated by spaces."""
    return tuple(frozenset(e.split()) for e in each)


def test_fields_of_a_union_keep_apart_and_what_is_inside_joins() -> None:
    body = Chain()
    empty = body("empty", Construct("Empty", (), STACK))
    one = body("one", Construct("Push", (weight("a", H), empty, weight("b")), STACK))
    two = body("two", Construct("Push", (X, one, weight("c")), STACK))
    arms = (
        Arm("Empty", (), weight("none", H)),
        Arm("Push", (Var("v", H), Var("below", STACK), Var("w", W)), Var("v", H)),
    )
    top = body("top", Match(two, arms, H))
    facts = found(program(function("forward", (X,), body.end(top)), datatypes=STACKS)).values_in("forward")
    assert facts["v"] == names("a instance") and facts["w"] == names("b c")
    assert facts["top"] == names("a instance none")
    assert set(facts["below"]) == set(facts["two"]) and facts["empty"] == names("", "")


def test_components_of_tuples_keep_apart_and_items_of_lists_join() -> None:
    body = Chain()
    t = body("t", Tuple((weight("a"), weight("b")), pair(W, W)))
    second = body("second", Field(t, 1, W))
    xs = body("xs", ListOf((second, weight("c")), ListT(W)))
    mapped = body("mapped", Map(Var("e", W), xs, Var("e", W), ListT(W)))
    facts = found(program(function("forward", (X,), body.end(mapped)))).values_in("forward")
    assert facts["t"] == names("a", "b") and facts["second"] == names("b")
    assert facts["xs"] == facts["e"] == facts["mapped"] == names("b c")


def test_both_branches_join_whatever_the_condition_is() -> None:
    body = If(Lit(True, BOOL), weight("a"), weight("b"), W)
    chain = Chain()
    facts = found(program(function("forward", (X,), chain.end(chain("v", body))))).values_in("forward")
    assert facts["v"] == names("a b")


def twice() -> Program:
    """`same` called from two places with a weight each."""
    body = Chain()
    body("first", call("same", W, weight("a")))
    second = body("second", call("same", W, weight("b")))
    same = function("same", (Var("w", W),), Var("w", W))
    unreached = function("unreached", (Var("w", W),), Var("w", W))
    return program(function("forward", (X,), body.end(second)), same, unreached)


def test_call_sites_keep_apart_unless_they_are_joined() -> None:
    facts = found(twice())
    assert facts.values_in("forward") == {"x": names("instance"), "first": names("a"), "second": names("b")}
    assert [facts.at(CallSite("forward", i), "same", "w") for i in (0, 1)] == [names("a"), names("b")]
    assert facts.values_in("same") == {"w": names("a b")}
    joined = found(twice(), contexts=False)
    assert [site for site, name in joined.results if name == "same"] == [None] and joined.at(None, "same", "w") == names("a b")
    assert joined.values_in("forward")["first"] == names("a b"), "without contexts a result is that of all calls"


def test_what_is_not_reached_has_no_facts() -> None:
    facts = found(twice())
    assert "unreached" not in {name for _, name in facts.results} and facts.values_in("unreached") == {}


def test_a_recursion_runs_to_its_fixpoint() -> None:
    """f(a, b) = f(b, c) or a: in the end `a` may be any of the weights one, two and c."""
    a, b = Var("a", W), Var("b", W)
    stop = Var("stop", BOOL)
    f = function("f", (a, b, stop), If(stop, a, call("f", W, b, weight("c"), stop), W))
    body = Chain()
    out = body("out", call("f", W, weight("one"), weight("two"), Lit(False, BOOL)))
    facts = found(program(function("forward", (X,), body.end(out)), f))
    assert facts.values_in("f")["a"] == names("one two c") and facts.values_in("f")["b"] == names("two c")
    assert facts.values_in("forward")["out"] == names("one two c")


def test_carried_variables_of_a_loop_run_to_their_fixpoint() -> None:
    """Three variables that change places in each round: each may have the start of any of them."""
    p, q, r = (Var(v, W) for v in "pqr")
    three = TupleT((W, W, W))
    xs = Var("xs", ListT(INT))
    init = (weight("a"), weight("b"), weight("c"))
    fold = Fold(Var("i", INT), xs, (p, q, r), init, Tuple((q, r, p), three), three)
    body = Chain()
    out = body("out", fold)
    facts = found(program(function("forward", (xs,), body.end(out)))).values_in("forward")
    assert facts["p"] == facts["q"] == facts["r"] == names("a b c")
    assert facts["out"] == names("a b c", "a b c", "a b c")


def test_what_rises_without_end_is_widened() -> None:
    """`n + 1` is widened in a loop and in a recursion. In straight code nothing is widened."""
    n, m = Var("n", INT), Var("m", INT)
    rounds = Loop((n,), (lit(1),), Lit(True, BOOL), host("add", INT, n, lit(1)), INT)
    chain = Chain()
    chain("straight", host("add", INT, lit(2), lit(3)))
    out = chain("out", rounds)
    deeper = Chain()
    more = deeper("more", host("add", INT, m, lit(1)))
    f = function("f", (m,), deeper.end(call("f", INT, more)))
    chain("recursion", call("f", INT, lit(1)))
    p = program(function("forward", (X,), chain.end(out)), f)
    facts = analyse(p, Largest(), CallGraph(p))
    assert facts.values_in("forward")["straight"] == (5,)
    assert facts.values_in("forward")["n"] == facts.values_in("f")["m"] == (Largest.unbounded,)


def test_work_joins_all_of_its_operands() -> None:
    chain = Chain()
    y = chain("y", op("linear", X, weight("w"), weight("b", TensorT((4,)))))
    facts = found(program(function("forward", (X,), chain.end(y)))).values_in("forward")
    assert facts["y"] == names("instance w b")


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(programs(waits=True))
def test_the_result_is_a_fixpoint(p: Program) -> None:
    """Evaluating a function once more on the result changes nothing, and parameters have as many leaves as their types."""
    graph = CallGraph(p)
    for contexts in (True, False):
        facts = analyse(p, Sources(), graph, contexts)
        assert facts.results
        for task, result in facts.results.items():
            again = _Fixpoint(p, Sources(), graph, contexts)
            again.variables, again.results, again.task = dict(facts.variables), dict(facts.results), task
            value = again.expr(p.functions[task[1]].body)
            assert all(new <= old for new, old in zip(value, result, strict=True))
            assert again.variables == facts.variables and not again.pending
        for context, name in facts.results:
            for param in p.functions[name].params:
                assert len(facts.at(context, name, param.name)) == facts.layout.size(param.type)
