"""Counters with a name: after `tie = itertools.count()`, each `next(tie)` gives the next int. The name becomes a variable that
holds it.

Loops over such a counter, `for t in itertools.count():`, become `while` loops.

The first is possible if the function that makes the counter, and functions inside of it, use it in `next` alone, in places that
are always computed, so that each step can be seen. Others that are used in `next` alone are objects, and so are those in
attributes. All others are refused where the counter is assigned.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from copy import deepcopy
from typing import Any

from backends.acrobat.frontend.evaluator.syntax.bodies import placed
from backends.acrobat.frontend.evaluator.syntax.hidden_names import hidden
from backends.acrobat.frontend.evaluator.syntax.order import always_computed
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted, replaced
from backends.acrobat.frontend.syntax_nodes import all_parameters, bound_names, every_node, mentions


def with_counters(
    definition: ast.FunctionDef, namespace: Mapping[str, Any], counter: Callable[[ast.expr, ast.expr], ast.expr]
) -> ast.FunctionDef:
    """A function with its counters as ints, or where that is not possible as objects, which `counter` makes of a first number
    and a step. `namespace` has the values of the names from outside of it."""
    local = bound_names(definition)
    definition = _looped(definition, lambda value: makes_counter(value, namespace, local))
    definition = _made_apart(definition, lambda value: makes_counter(value, namespace, local))
    nodes = every_node(definition)
    assignments = [s for s in nodes if isinstance(s, ast.Assign) and makes_counter(s.value, namespace, local)]
    names = {t.id for s in assignments for t in s.targets if isinstance(t, ast.Name)}
    bound_inside = {x.arg for x in nodes if isinstance(x, ast.arg)}
    counters = {
        x: step for x in names - all_parameters(definition) - bound_inside if (step := _step(x, assignments, definition))
    }
    definition = _as_objects(definition, counters, counter, lambda value: makes_counter(value, namespace, local))
    if not counters:
        return definition
    named = (s for s in assignments if isinstance(s.targets[0], ast.Name) and s.targets[0].id in counters)
    written = {(s.lineno, s.col_offset) for s in named}
    changed: ast.FunctionDef = _Counters(counters, written).visit(deepcopy(definition))
    return changed


def _made_apart(definition: ast.FunctionDef, makes: Callable[[ast.expr], bool]) -> ast.FunctionDef:
    """A function in which `heap, tick = [], itertools.count()` is two statements."""

    def as_statements(node: ast.AST) -> Any:
        match node:
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values) and any(map(makes, values)):
                read = {x.id for v in values for x in ast.walk(v) if isinstance(x, ast.Name)}
                if all(isinstance(t, ast.Name) and t.id not in read for t in targets):
                    return [ast.copy_location(ast.Assign([t], v), t) for t, v in zip(targets, values, strict=True)]
        return node

    tuples = (x.value for x in every_node(definition) if isinstance(x, ast.Assign) and isinstance(x.value, ast.Tuple))
    return replaced(definition, as_statements) if any(makes(v) for x in tuples for v in x.elts) else definition


def _looped(definition: ast.FunctionDef, makes: Callable[[ast.expr], bool]) -> ast.FunctionDef:
    """A function with its loops over counters as `while` loops. Their `else` is never executed."""

    def loop(node: ast.AST) -> Any:
        match node:
            case ast.For(ast.Name(name), counter) if makes(counter):
                start, step = start_and_step(counter)
                text = "number = start\nby = step\nwhile True:\n    name = number\n    number = number + by"
                names = {"number": hidden("number", node), "by": hidden("by", node), "name": name}
                *before, endless = quoted(node, text, start=start, step=step, **names)
                endless.body += node.body  # type: ignore[attr-defined]
                return [*before, endless]
        return node

    loops = (x.iter for x in every_node(definition) if isinstance(x, ast.For))
    return replaced(definition, loop) if any(map(makes, loops)) else definition


def _as_objects(
    definition: ast.FunctionDef,
    counters: Collection[str],
    counter: Callable[[ast.expr, ast.expr], ast.expr],
    makes: Callable[[ast.expr], bool],
) -> ast.FunctionDef:
    """A function in which the counters that are no ints are objects: those in attributes, and those with names that are used in
    `next` alone, but not in places that are always computed."""

    def only_in_next(name: str) -> bool:
        in_next = {x.args[0] for x in every_node(definition) if _counter(x) == name and isinstance(x, ast.Call)}
        return all(x in in_next for x in mentions(definition, name, ast.Load))

    def as_object(node: ast.AST) -> Any:
        match node:
            case ast.Assign([ast.Attribute()], value) if makes(value):
                pass
            case ast.Assign([ast.Name(name)], value) if makes(value) and name not in counters and only_in_next(name):
                pass
            case _:
                return node
        made = ast.copy_location(counter(*start_and_step(value)), value)
        return ast.copy_location(ast.Assign(node.targets, made), node)

    made = (x.value for x in every_node(definition) if isinstance(x, ast.Assign))
    return replaced(definition, as_object) if any(map(makes, made)) else definition


def makes_counter(node: ast.expr, namespace: Mapping[str, Any], local: set[str]) -> bool:
    """Whether an expression is a call of `itertools.count`."""
    match node:
        case ast.Call(ast.Name(name)):
            return name not in local and namespace.get(name) is itertools.count
        case ast.Call(ast.Attribute(ast.Name(name), "count")):
            return name not in local and namespace.get(name) is itertools
    return False


def _step(name: str, assignments: list[ast.Assign], definition: ast.FunctionDef) -> int:
    """The step of the counter with this name; 0 if it is used otherwise than in `next`, or its step is not a written int."""
    own = [s for s in assignments if isinstance(s.targets[0], ast.Name) and s.targets[0].id == name and len(s.targets) == 1]
    steps = {_parts(s.value)[1] for s in own}
    stores, uses = len(mentions(definition, name, ast.Store, ast.Del)), len(mentions(definition, name, ast.Load))
    reads = sum(1 for s in _statements(definition.body) for e in computed(s) if _counter(e) == name)
    seen = stores == len(own) and uses == reads and not _stepped_between(name, definition)
    return steps.pop() if len(steps) == 1 and seen else 0


def _stepped_between(name: str, definition: ast.FunctionDef) -> bool:
    """Whether a statement that takes the next int of a counter may also call a function inside of `definition` that takes one:
    the order of the two could not be told."""
    nodes = every_node(definition)
    inside = [x for x in nodes if isinstance(x, ast.FunctionDef) and x is not definition]
    if not any(mentions(x, name, ast.Load) for x in inside):
        return False
    local = {x for d in (definition, *inside) for x in (*bound_names(d), *all_parameters(d))}
    called = {x.func.id for x in nodes if isinstance(x, ast.Call) and isinstance(x.func, ast.Name)}
    functions, before = {x.name for x in inside} | called & local, 0
    callees = {x.func for x in nodes if isinstance(x, ast.Call)}
    while len(functions) > before:  # and names for what may have one in it
        before = len(functions)
        for named in (x for x in nodes if isinstance(x, (ast.Assign, ast.AnnAssign, ast.For))):
            parts = every_node((named.iter if isinstance(named, ast.For) else named.value) or named)
            if any(isinstance(x, ast.Name) and x.id in functions and x not in callees for x in parts):
                targets = named.targets if isinstance(named, ast.Assign) else [named.target]
                functions.update(x.id for t in targets for x in every_node(t) if isinstance(x, ast.Name))
    for s in _statements(definition.body):
        if any(_counter(e) == name for e in computed(s)):
            around = [x for part in ast.iter_child_nodes(s) if not isinstance(part, ast.stmt) for x in ast.walk(part)]
            if any(isinstance(x, ast.Name) and x.id in functions for x in around):
                return True
            if any(isinstance(x, ast.Call) and not isinstance(x.func, (ast.Name, ast.Attribute)) for x in around):
                return True
    return False


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
    """The statements of a body, also those inside others and of inner functions."""
    for s in body:
        yield s
        if not isinstance(s, ast.ClassDef):
            for inner in (getattr(s, x, []) for x in ("body", "orelse", "finalbody")):
                yield from _statements(inner)
            for case in getattr(s, "cases", []):
                yield from _statements(case.body)


def computed(s: ast.AST) -> Iterator[ast.AST]:
    """The expressions that are always computed when a statement or an expression is, once each, in order."""
    if isinstance(s, (ast.While, ast.FunctionDef, ast.ClassDef, ast.Assert)):
        return
    for child in always_computed(s):
        if isinstance(child, ast.expr | ast.keyword | ast.withitem):
            yield from computed(child)
            yield child


class _Counters(ast.NodeTransformer):
    """Rewrites the counters with these names and steps as ints; `assignments` are the places of the statements that make them.
    Each `next` becomes statements before the one that contains it."""

    def __init__(self, counters: dict[str, int], assignments: set[tuple[int, int]]) -> None:
        self.counters, self.assignments = counters, assignments
        self.values: dict[int, ast.expr] = {}  # id of a `next(...)` -> the name that has its value
        self.inside: list[set[str]] = [set()]  # of the functions inside each other the counters that they use

    def visit(self, node: ast.AST) -> Any:
        if id(node) in self.values:
            return self.values[id(node)]
        before: list[ast.stmt] = []
        for e in computed(node) if isinstance(node, ast.stmt) else ():
            name = _counter(e)
            if name in self.counters and isinstance(e, ast.expr):
                self.inside[-1].add(name)
                value = hidden("next", e)
                step = ast.Constant(self.counters[name])
                before += quoted(e, "value = name; name = name + step", value=value, name=name, step=step)
                self.values[id(e)] = ast.copy_location(ast.Name(value, ast.Load()), e)
        if isinstance(node, ast.Assign) and (node.lineno, node.col_offset) in self.assignments:
            start = ast.Assign(node.targets, _parts(node.value)[0])
            return [*before, placed(node, ast.copy_location(start, node))]
        if isinstance(node, ast.FunctionDef):
            self.inside.append(set())
        result = self.generic_visit(node)
        if isinstance(node, ast.FunctionDef) and (used := self.inside.pop()) and len(self.inside) > 1:
            self.inside[-1] |= used
            node.body.insert(0, placed(node, ast.copy_location(ast.Nonlocal(sorted(used)), node)))
        return [*before, result] if before else result
