"""Parameter reuse (paper: taint analysis and code duplication): functions are cloned for each set of weights that they are
called with, and variables that always hold one weight are replaced by it.

    a = call scan(@left, @start, xs)          a = call scan(@start, xs)          each clone computes `linear(x, @left)` or
    b = call scan(@right, @start, xs)         b = call scan_1(@start, xs)        `linear(x, @right)` in place of `linear(x, w)`

A kernel reads a weight once for a whole batch only if the weight is the same in all calls that the kernel serves. So a
component of the call graph that is entered with different weights is cloned. Then each variable that is always one weight
becomes that weight and is neither passed nor carried any more. Without cloning this holds only for weights that are the same at
all call sites; others are gathered like any tensor. A variable that holds a weight first and a result later (an initial state)
is gathered in either case.

Source: the paper's code duplication for parameter reuse.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from backends.acrobat.analyses.callgraph import CallGraph, CallSite, call_graph
from backends.acrobat.analyses.engine import Solution
from backends.acrobat.analyses.sources import Sources, weight_sources
from backends.acrobat.core.types import TensorT
from backends.acrobat.ir.nodes import Atom, Call, Function, Program, Weight
from backends.acrobat.ir.renaming import Names
from backends.acrobat.ir.visitor import binders, flat, walk
from backends.acrobat.ir.work import is_work
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.normal import normalise

FUNCTIONS = 256
"""Once a program has this many functions no more are cloned; a warning names the function concerned."""


def run(program: Program, clone: bool = True) -> Program:
    """`program` with weights in place of the variables that always hold one; `clone` clones functions first, so that more do.

    Each round of cloning clones for weights that clones of the round before pass on, so there are at most as many rounds as
    components of the call graph. Raises RuntimeError if there are more: a defect of the compiler.
    """
    program = remove_dead(program)  # what is never called has no facts
    return _merge_equal(_place_weights(_clone_all(program) if clone else program))


def _clone_all(program: Program) -> Program:
    for _ in range(len(call_graph(program).components) + 1):
        cloned = _cloned(program)
        if cloned is program:
            return program
        program = cloned
    raise RuntimeError("specialisation still clones functions after as many rounds as it can need")


def _cloned(program: Program) -> Program:
    """One round of cloning: the call sites that enter a component are grouped by the weights they pass, and each group but the
    first gets a clone of the component. `program` itself if nothing is cloned."""
    graph = call_graph(program)
    facts = weight_sources(program, graph)
    targets: dict[CallSite, str] = {}
    copies: dict[str, Function] = {}
    function_names = Names(set(program.functions))
    for component in graph.components:
        _, *others = _groups(program, graph, facts, component)
        for sites in others:
            if (count := len(program.functions) + len(copies)) + len(component) > FUNCTIONS:
                warnings.warn(
                    f"{component[0]} is not cloned for each set of weights that it is called with, because the program has "
                    f"{count} functions already, of at most {FUNCTIONS}: kernels read those weights anew for each call, "
                    "which is slower",
                    stacklevel=2,
                )
                break
            names = {name: function_names.fresh(name) for name in component}
            for name, new in names.items():
                function = _retargeted(graph, program.functions[name], targets, names)
                copies[new] = replace(function, name=new, origin=function.origin or name)
            targets |= {site: names[graph.calls[site.function][site.index].function] for site in sites}
    if not copies:
        return program
    functions = {name: _retargeted(graph, function, targets, {}) for name, function in program.functions.items()}
    return replace(program, functions=functions | copies)


def _groups(program: Program, graph: CallGraph, facts: Solution[Sources], component: tuple[str, ...]) -> list[list[CallSite]]:
    """The call sites that enter a component of the call graph, in groups that each get a clone. Two sites are in different
    groups if some parameter is always one weight, all through the recursion, and a different one for each of the two. A
    parameter that only starts as a weight and later holds a result makes no difference."""
    sites = [site for name in component for site in graph.sites(name) if site.function not in component]
    working = any(is_work(node) for name in graph.reachable(component[0]) for node in walk(program.functions[name].body))
    if program.entry in component or not working:
        return [sites]
    weights_passed = [
        [leaf.only for name in component for p in program.functions[name].params for leaf in facts.at(site, name, p.name)]
        for site in sites
    ]
    differing = [column for column in zip(*weights_passed, strict=True) if len(set(column) - {None}) > 1]
    groups: dict[tuple[str | None, ...], list[CallSite]] = {}
    for site, signature in zip(sites, zip(*differing, strict=True) if differing else [()] * len(sites), strict=True):
        groups.setdefault(signature, []).append(site)
    return list(groups.values())


def _retargeted(graph: CallGraph, function: Function, targets: Mapping[CallSite, str], names: Mapping[str, str]) -> Function:
    """The function with calls redirected to what `targets` has for their site, or else `names` for the called function."""

    def target(call: Call) -> str:
        return targets.get(graph.site(function.name, call)) or names.get(call.function, call.function)

    return normalise(function, target=target)


def _place_weights(program: Program) -> Program:
    """The program with each variable that is always one weight replaced by the weight."""
    facts = weight_sources(program, call_graph(program))
    functions = {}
    for name, function in program.functions.items():
        leaves = facts.values_in(name)
        atoms: dict[str, Atom] = {}
        for var in (*function.params, *(v for node in walk(function.body) for v in binders(node))):
            if isinstance(var.type, TensorT) and (weight := leaves[var.name][0].only):
                atoms[var.name] = Weight(weight, var.type)
        functions[name] = normalise(function, atoms=atoms)
    return remove_dead(replace(program, functions=functions))


def _merge_equal(program: Program) -> Program:
    """The program with clones that have become equal merged into one function, so that one kernel serves the calls of both."""
    graph = call_graph(program)
    new_name: dict[str, str] = {}
    representatives: dict[tuple[Any, ...], tuple[str, ...]] = {}
    for component in graph.components:  # callees come first, so theirs are merged already
        own = {name: program.functions[name].origin or name for name in component}
        names = new_name | own
        members = [program.functions[name] for name in component]
        shape = tuple((names[f.name], f.params, f.result, flat(f.body, names)) for f in members)
        new_name |= dict(zip(component, representatives.setdefault(shape, component), strict=True))
    if all(name == same for name, same in new_name.items()):
        return program
    functions = {name: _retargeted(graph, function, {}, new_name) for name, function in program.functions.items()}
    return remove_dead(replace(program, functions=functions))
