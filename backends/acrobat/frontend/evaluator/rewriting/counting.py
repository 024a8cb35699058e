"""Counters with a name: after `tie = itertools.count()` each `next(tie)` is the next int, and the name a variable.

This holds where the function that makes the counter uses it by `next` alone, in places that are always computed, so that each
step can be seen. Others are refused where the name gets its value.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from backends.acrobat.frontend.evaluator.syntax.bodies import HIDDEN, placed
from backends.acrobat.frontend.evaluator.syntax.order import always_computed
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted
from backends.acrobat.frontend.syntax_nodes import all_parameters, bound_names, every_node, mentions


def with_counters(definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> ast.FunctionDef:
    """A function with its counters as ints. `namespace` has the values of the names from outside of it."""
    nodes = every_node(definition)
    local = bound_names(definition)
    assignments = [s for s in nodes if isinstance(s, ast.Assign) and makes_counter(s.value, namespace, local)]
    names = {t.id for s in assignments for t in s.targets if isinstance(t, ast.Name)}
    counters = {x: step for x in names - all_parameters(definition) if (step := _step(x, assignments, definition))}
    if not counters:
        return definition
    named = (s for s in assignments if isinstance(s.targets[0], ast.Name) and s.targets[0].id in counters)
    written = {(s.lineno, s.col_offset) for s in named}
    changed: ast.FunctionDef = _Counters(counters, written).visit(deepcopy(definition))
    return changed


def makes_counter(node: ast.expr, namespace: Mapping[str, Any], local: set[str]) -> bool:
    """Whether an expression is a call of `itertools.count`."""
    match node:
        case ast.Call(ast.Name(name)):
            return name not in local and namespace.get(name) is itertools.count
        case ast.Call(ast.Attribute(ast.Name(name), "count")):
            return name not in local and namespace.get(name) is itertools
    return False


def _step(name: str, assignments: list[ast.Assign], definition: ast.FunctionDef) -> int:
    """How far a counter with this name goes at each step; 0 if it is not used by `next` alone, or its step is not written."""
    own = [s for s in assignments if isinstance(s.targets[0], ast.Name) and s.targets[0].id == name and len(s.targets) == 1]
    steps = {_parts(s.value)[1] for s in own}
    stores, uses = len(mentions(definition, name, ast.Store, ast.Del)), len(mentions(definition, name, ast.Load))
    reads = sum(1 for s in _statements(definition.body) for e in _computed(s) if _counter(e) == name)
    return steps.pop() if len(steps) == 1 and stores == len(own) and uses == reads else 0


def start_and_step(call: ast.expr) -> tuple[ast.expr, ast.expr]:
    """The first number of a counter, and its step, as written."""
    assert isinstance(call, ast.Call)
    arguments = dict(zip(("start", "step"), call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
    return arguments.get("start", ast.Constant(0)), arguments.get("step", ast.Constant(1))


def _parts(call: ast.expr) -> tuple[ast.expr, int]:
    """The first int of a counter, and its step: 0 if that is not written as an int."""
    assert isinstance(call, ast.Call)
    arguments = dict(zip(("start", "step"), call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
    match arguments.get("step", ast.Constant(1)):
        case ast.Constant(int() as step) if len(arguments) == len(call.args) + len(call.keywords):
            return arguments.get("start", ast.Constant(0)), step
    return ast.Constant(0), 0


def _counter(node: ast.AST) -> str:
    """The name of which `node` may be the next int; "" of other expressions."""
    match node:
        case ast.Call(ast.Name("next"), [ast.Name(name)], []):
            return name
    return ""


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body, also those inside others, but for those of inner functions."""
    for s in body:
        yield s
        if not isinstance(s, (ast.FunctionDef, ast.ClassDef)):
            for inner in (getattr(s, x, []) for x in ("body", "orelse", "finalbody")):
                yield from _statements(inner)
            for case in getattr(s, "cases", []):
                yield from _statements(case.body)


def _computed(s: ast.AST) -> Iterator[ast.AST]:
    """The expressions that are always computed when a statement or an expression is, once each, in order."""
    if isinstance(s, (ast.While, ast.FunctionDef, ast.ClassDef, ast.Assert)):
        return
    for child in always_computed(s):
        if isinstance(child, ast.expr | ast.keyword | ast.withitem):
            yield from _computed(child)
            yield child


class _Counters(ast.NodeTransformer):
    """Writes counters with these names and steps, which the statements at the places `assignments` make, as ints: each
    `next` becomes statements before the one that it is in."""

    def __init__(self, counters: dict[str, int], assignments: set[tuple[int, int]]) -> None:
        self.counters, self.assignments = counters, assignments
        self.values: dict[int, ast.expr] = {}  # id of a `next(...)` -> the name that has its value

    def visit(self, node: ast.AST) -> Any:
        if id(node) in self.values:
            return self.values[id(node)]
        before: list[ast.stmt] = []
        for e in _computed(node) if isinstance(node, ast.stmt) else ():
            name = _counter(e)
            if name in self.counters and isinstance(e, ast.expr):
                value = f"{HIDDEN}next{e.lineno}_{e.col_offset}"
                step = ast.Constant(self.counters[name])
                before += quoted(e, "value = name; name = name + step", value=value, name=name, step=step)
                self.values[id(e)] = ast.copy_location(ast.Name(value, ast.Load()), e)
        if isinstance(node, ast.Assign) and (node.lineno, node.col_offset) in self.assignments:
            start = ast.Assign(node.targets, _parts(node.value)[0])
            return [*before, placed(node, ast.copy_location(start, node))]
        result = self.generic_visit(node)
        return [*before, result] if before else result
