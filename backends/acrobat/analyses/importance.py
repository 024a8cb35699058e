"""How often one instance is expected to run each launch, estimated from the program's text alone. Tuning distributes its trials
by these numbers where it has no profile, as the auto-scheduler of ACRoBat's original code does.

Every loop and every recursion around a launch is taken to repeat `REPEATS` times: a kernel in a loop of a recursive function
counts 25 times as much as one that each instance runs once.

Source: the static estimate in the code of ACRoBat, which the paper compares with profile-guided optimization.
"""

from __future__ import annotations

from collections.abc import Iterator

from backends.acrobat.analyses.callgraph import CallGraph, call_graph
from backends.acrobat.ir.nodes import Call, Expr, Fold, Launch, Loop, Map, Program
from backends.acrobat.ir.visitor import bodies, operands

REPEATS = 5.0
"""The multiplier that ACRoBat's original code has for each level of recursion."""


def expected_runs(program: Program) -> list[tuple[Launch, float]]:
    """All launches in the order of the functions, each with how often one instance is expected to run it."""
    graph = call_graph(program)
    levels = recursion_levels(program, graph)
    return [
        (node, REPEATS ** (levels[name] + depth))
        for name, function in program.functions.items()
        if name in levels
        for node, depth in with_loop_depth(function.body)
        if isinstance(node, Launch)
    ]


def recursion_levels(program: Program, graph: CallGraph) -> dict[str, int]:
    """For each function that the entry reaches: the largest number of loops and recursions that are around one of its calls."""
    levels: dict[str, int] = {}
    for component in reversed(graph.components):  # callers before those they call
        own = int(component[0] in graph.recursive)
        if program.entry in component:
            reached_runs = own
        elif any(name in levels for name in component):
            reached_runs = max(levels[name] for name in component if name in levels) + own
        else:
            continue  # the entry does not reach it
        for name in component:
            levels[name] = reached_runs
        for name in component:
            for node, depth in with_loop_depth(program.functions[name].body):
                if isinstance(node, Call) and node.function not in component:
                    levels[node.function] = max(levels.get(node.function, 0), reached_runs + depth)
    return levels


def with_loop_depth(body: Expr) -> Iterator[tuple[Expr, int]]:
    """Every node of a function's body, with how many loops are around it."""
    stack = [(body, 0)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        inner = depth + isinstance(node, (Map, Fold, Loop))
        if operands(node) != (node,):
            stack += [(each, inner) for each in bodies(node)]
