"""Removal of bindings, parameters, functions and weights that the program's result does not depend on.

The language is pure, so a value that is not used need not be computed. Three kinds of bindings are kept although nothing uses
them: waits, because it is part of a model's meaning that an instance waits (simulated decisions do not read the number);
`phase` markers, because any marker decides where all phases of the model begin; and what may raise an error of the model's own,
because an assertion has no result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from backends.acrobat.analyses.callgraph import CallGraph, call_graph
from backends.acrobat.analyses.phases import is_marker
from backends.acrobat.analyses.waits import Waits, waits_of
from backends.acrobat.ir.nodes import Call, Expr, Host, Program, Weight
from backends.acrobat.ir.visitor import free_vars, from_lets, lets, map_bodies, walk


def remove_dead(program: Program) -> Program:
    """`program` without what its entry's result does not depend on; `program` itself if there is nothing. The entry keeps its
    parameters."""
    needed = {name: frozenset[int]() for name in program.functions}
    needed[program.entry] = frozenset(range(len(program.functions[program.entry].params)))
    graph = call_graph(program)
    waits, failing = waits_of(program, graph), _failing(program, graph)
    while True:
        bodies = {name: _live(f.body, needed, waits, failing) for name, f in program.functions.items()}
        found = {}
        for name, f in program.functions.items():
            used = free_vars(bodies[name])
            found[name] = needed[name] | {i for i, p in enumerate(f.params) if p.name in used}
        if found == needed:
            break
        needed = found
    reached, pending = {program.entry}, [program.entry]
    while pending:
        new = {node.function for node in walk(bodies[pending.pop()]) if isinstance(node, Call)} - reached
        reached |= new
        pending += new
    functions = {name: f for name, f in program.functions.items() if name in reached}
    for name, f in functions.items():
        if bodies[name] is not f.body or len(needed[name]) < len(f.params):
            params = tuple(p for i, p in enumerate(f.params) if i in needed[name])
            functions[name] = replace(f, params=params, body=bodies[name])
    same = all(functions.get(name) is f for name, f in program.functions.items())
    return remove_unused_weights(program if same else replace(program, functions=functions))


def remove_unused_weights(program: Program) -> Program:
    """`program` without weights that its functions do not use, directly or through derived ones; itself if there are none."""
    used = {node.name for f in program.functions.values() for node in walk(f.body) if isinstance(node, Weight)}
    for name, derived in reversed(list(program.derived.items())):
        if name in used:
            used.update(derived.args)
    if used.issuperset((*program.weights, *program.values)):
        return program
    return replace(
        program,
        weights={name: t for name, t in program.weights.items() if name in used},
        derived={name: d for name, d in program.derived.items() if name in used},
        values={name: v for name, v in program.values.items() if name in used},
    )


def _failing(program: Program, graph: CallGraph) -> frozenset[str]:
    """The functions in which the model may raise an error of its own."""
    own = {name for name, f in program.functions.items() if any(isinstance(e, Host) and e.op == "fail" for e in walk(f.body))}
    return frozenset(name for name in program.functions if own and graph.reachable(name) & own)


def _may_fail(expr: Expr, failing: frozenset[str]) -> bool:
    return any(isinstance(e, Host) and e.op == "fail" or isinstance(e, Call) and e.function in failing for e in walk(expr))


def _live(expr: Expr, needed: Mapping[str, frozenset[int]], waits: Waits, failing: frozenset[str]) -> Expr:
    """`expr` without unused bindings and arguments. `needed`: by function, the positions of the parameters that it needs."""
    bindings, result = lets(expr)
    tail = result
    if isinstance(result, Call) and len(needed[result.function]) < len(result.args):
        result = replace(result, args=tuple(a for i, a in enumerate(result.args) if i in needed[result.function]))
    result = map_bodies(result, lambda body: _live(body, needed, waits, failing))
    used = set(free_vars(result))
    failing_here = bool(failing)  # nearly no program fails by itself
    kept = []
    for var, value in reversed(bindings):
        if var.name in used or waits.may_wait(value) or is_marker(value) or failing_here and _may_fail(value, failing):
            value = _live(value, needed, waits, failing)
            used |= free_vars(value)
            kept.append((var, value))
    kept.reverse()
    same = result is tail and len(kept) == len(bindings) and all(a[1] is b[1] for a, b in zip(kept, bindings, strict=True))
    return expr if same else from_lets(kept, result)
