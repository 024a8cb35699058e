"""The call graph: components are found once and listed callees first; which functions are recursive; call sites."""

from __future__ import annotations

from backends.acrobat.analyses.callgraph import CallGraph, CallSite
from backends.acrobat.analyses.tests.chain import Chain, H, call, function, program
from backends.acrobat.ir.nodes import Expr, Var

X = Var("x", H)


def body(*callees: str) -> Expr:
    chain = Chain()
    results = [chain(f"r{i}", call(name, H, X)) for i, name in enumerate(callees)]
    return chain.end(results[-1] if results else X)


def graph(**calls: list[str]) -> CallGraph:
    return CallGraph(program(*(function(name, (X,), body(*callees)) for name, callees in calls.items())))


def test_bug_8_each_component_is_found_once_and_after_all_that_it_calls() -> None:
    """ACRoBat's original code runs Tarjan's algorithm twice, and orders components by the path that it finds first. Here `leaf`
    is at the end of a short path and of a long one."""
    g = graph(forward=["leaf", "a", "odd"], a=["b"], b=["leaf", "b"], odd=["even"], even=["odd", "leaf"], leaf=[])
    assert sorted(g.components) == [("a",), ("b",), ("forward",), ("leaf",), ("odd", "even")]
    for caller, callees in g.callees.items():
        assert all(g.component[callee] <= g.component[caller] for callee in callees)
    assert g.components[-1] == ("forward",)


def test_recursion_is_direct_or_mutual_and_not_mere_repetition() -> None:
    g = graph(forward=["twice", "twice", "self", "odd"], twice=[], self=["self"], odd=["even"], even=["odd"])
    assert g.recursive == {"self", "odd", "even"}


def test_a_cycle_is_one_component_however_long() -> None:
    g = graph(forward=["a", "d"], a=["b"], b=["c", "e"], c=["d"], d=["a"], e=["b"])
    assert g.components == (("a", "b", "c", "d", "e"), ("forward",))


def test_sites_in_program_order() -> None:
    g = graph(forward=["f", "g", "f"], g=["f"], f=[])
    assert g.sites("f") == [CallSite("forward", 0), CallSite("forward", 2), CallSite("g", 0)]
    assert g.site("forward", g.calls["forward"][2]) == CallSite("forward", 2)


def test_reachable() -> None:
    g = graph(forward=["f"], f=["g"], g=["f"], other=["f"])
    assert g.reachable("forward") == {"forward", "f", "g"}


def test_a_long_chain_of_calls() -> None:
    calls = {f"f{i}": [f"f{i + 1}"] for i in range(3000)}
    assert len(graph(**calls, f3000=[]).components) == 3001
