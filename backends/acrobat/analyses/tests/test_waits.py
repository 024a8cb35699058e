"""Which functions, calls and loops may wait for a tensor's value."""

from __future__ import annotations

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.tests.chain import SCORE, Chain, H, call, function, op, program
from backends.acrobat.analyses.waits import Waits
from backends.acrobat.core.types import FLOAT, ListT
from backends.acrobat.ir.nodes import Item, Map, Var

X = Var("x", H)


def test_waits_are_transitive_and_through_recursion() -> None:
    inner = Chain()
    score = inner("score", op("sum", X, type=SCORE))
    inner("number", Item(score, FLOAT))
    waiting = function("waiting", (X,), inner.end(X))
    plain = function("plain", (X,), op("tanh", X))
    loop = Chain()
    odd = function("odd", (X,), loop.end(loop("r", call("even", H, X))))
    even_chain = Chain()
    even_chain("w", call("waiting", H, X))
    even = function("even", (X,), even_chain.end(even_chain("r", call("odd", H, X))))
    top = Chain()
    top("a", call("plain", H, X))
    forward = function("forward", (X,), top.end(top("b", call("odd", H, X))))
    p = program(forward, odd, even, plain, waiting)
    waits = Waits(p, CallGraph(p))
    assert waits.functions == {"forward", "odd", "even", "waiting"}
    each, xs = Var("each", H), Var("xs", ListT(H))
    assert waits.may_wait(Map(each, xs, call("even", H, each), ListT(H)))
    assert not waits.may_wait(Map(each, xs, call("plain", H, each), ListT(H)))
    assert waits.may_wait(Item(X, FLOAT))
