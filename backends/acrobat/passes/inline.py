"""Inlining: functions that are not recursive become part of their callers, so that passes see straight-line code as a whole.

Recursive functions stay. So do large functions with several call sites, because copies of them could make the program grow
without bound; but a function with a `phase` marker is always inlined, because markers have to stand in the entry.

Source: a standard pass.
"""

from __future__ import annotations

from dataclasses import replace

from backends.acrobat.analyses.callgraph import call_graph
from backends.acrobat.analyses.phases import is_marker
from backends.acrobat.ir.nodes import Call, Function, Let, Lit, Program, Var, Weight
from backends.acrobat.ir.visitor import walk
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.normal import normalise

LARGE = 200
"""A function with several call sites and more nodes (without atoms and lets, with inlined callees) is not inlined."""


def run(program: Program, weights: bool = True) -> Program:
    """`program` in normal form, with functions inlined and what is not used removed. A copy of a function is also specialised
    to the weights of its call; without `weights`, functions that are called with different weights are not inlined."""
    graph = call_graph(program)
    marked = {name for name, f in program.functions.items() if any(map(is_marker, walk(f.body)))}
    marked = {name for name in program.functions if graph.reachable(name) & marked}
    not_inlined = frozenset() if weights else _several_weights(program) - marked
    bodies: dict[str, Function] = {}
    functions = {}
    for component in graph.components:
        for name in component:
            functions[name] = normalise(program.functions[name], bodies)
            single = len(graph.sites(name)) <= 1
            if name in not_inlined or name in graph.recursive or name == program.entry:
                continue
            if single or name in marked or _size(functions[name]) <= LARGE:
                bodies[name] = functions[name]
    return remove_dead(replace(program, functions={name: functions[name] for name in program.functions}))


def _several_weights(program: Program) -> frozenset[str]:
    """The functions that get different weights for some parameter at different calls."""
    weights_of_param: dict[tuple[str, int], set[str]] = {}
    for function in program.functions.values():
        for node in walk(function.body):
            if isinstance(node, Call):
                for i, a in enumerate(node.args):
                    if isinstance(a, Weight):
                        weights_of_param.setdefault((node.function, i), set()).add(a.name)
    return frozenset(name for (name, _), weights in weights_of_param.items() if len(weights) > 1)


def _size(function: Function) -> int:
    return sum(not isinstance(node, Var | Lit | Weight | Let) for node in walk(function.body))
