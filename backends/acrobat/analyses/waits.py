"""Tensor-dependent control flow: what may wait for the value of a tensor.

Source: the paper's tensor-dependent control flow.
"""

from __future__ import annotations

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.once import once
from backends.acrobat.ir.nodes import Call, Expr, Item, Program
from backends.acrobat.ir.visitor import containing, walk


class Waits:
    """`functions`: those that may wait, themselves or in what they call. Only they have to be coroutines."""

    def __init__(self, program: Program, graph: CallGraph) -> None:
        own = {name for name, f in program.functions.items() if any(isinstance(node, Item) for node in walk(f.body))}
        self.functions: frozenset[str] = frozenset(name for name in program.functions if graph.reachable(name) & own)
        self._program = program  # keeps its nodes alive: facts are stored by their ids
        self._nodes = frozenset[int]().union(*(containing(f.body, self._waits) for f in program.functions.values()))

    def _waits(self, expr: Expr) -> bool:
        return isinstance(expr, Item) or isinstance(expr, Call) and expr.function in self.functions

    def may_wait(self, expr: Expr) -> bool:
        """Whether evaluating `expr` (a call, a loop, the elements of a `Map`), a node of the program, may wait."""
        return id(expr) in self._nodes


@once
def waits_of(program: Program, graph: CallGraph) -> Waits:
    """Which functions and expressions of a program may wait."""
    return Waits(program, graph)
