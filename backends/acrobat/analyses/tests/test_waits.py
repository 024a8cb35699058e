"""Which functions, calls and loops may wait for a tensor's value."""

from __future__ import annotations

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.tests.chain import SCORE, Chain, H, call, function, op, program
from backends.acrobat.analyses.waits import Waits
from backends.acrobat.core.types import FLOAT, ListT
from backends.acrobat.ir.nodes import Item, Map, Var
from backends.acrobat.ir.visitor import walk

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
    each, other, xs = Var("each", H), Var("other", H), Var("xs", ListT(H))
    waiting_map = Map(each, xs, call("even", H, each), ListT(H))
    plain_map = Map(other, xs, call("plain", H, other), ListT(H))
    top = Chain()
    top("a", call("plain", H, X))
    top("waiting_list", waiting_map)
    top("plain_list", plain_map)
    forward = function("forward", (X, xs), top.end(top("b", call("odd", H, X))))
    p = program(forward, odd, even, plain, waiting)
    waits = Waits(p, CallGraph(p))
    assert waits.functions == {"forward", "odd", "even", "waiting"}
    assert waits.may_wait(waiting_map) and not waits.may_wait(plain_map)
    assert waits.may_wait(next(node for node in walk(waiting.body) if isinstance(node, Item)))
