"""Tensor-dependent control flow: what may wait for the value of a tensor."""

from __future__ import annotations

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.ir.nodes import Call, Expr, Item, Program
from backends.acrobat.ir.visitor import walk


class Waits:
    """`functions` may wait, themselves or in what they call; only those need to be coroutines."""

    def __init__(self, program: Program, graph: CallGraph) -> None:
        own = {name for name, f in program.functions.items() if any(isinstance(node, Item) for node in walk(f.body))}
        self.functions: frozenset[str] = frozenset(name for name in program.functions if graph.reachable(name) & own)

    def may_wait(self, expr: Expr) -> bool:
        """Whether evaluating `expr` (a call, a loop, the elements of a `Map`) may wait."""
        return any(isinstance(node, Item) or isinstance(node, Call) and node.function in self.functions for node in walk(expr))
