"""Comprehensions that have a variable of their own with the name of another one, which a function inside the function sees:

    def scaled(x):
        return x * k                       this is the `k` of the function around it,
    return [scaled(k) for k in xs]         and not the one of the comprehension

A nested function is compiled with the values that names have where it is called, so the comprehension's variable gets another
name here."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import Any

from backends.acrobat.frontend.evaluator.syntax.bodies import stored
from backends.acrobat.frontend.syntax_nodes import all_parameters, every_node, names_in

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def with_own_variables(definition: ast.FunctionDef, body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements `body` of a function with such variables renamed; `definition` is the function."""
    nodes = [x for s in body for x in every_node(s)]
    functions = [x for x in nodes if isinstance(x, (ast.FunctionDef, ast.Lambda))]
    comprehensions = [x for x in nodes if isinstance(x, Comprehension)]
    if not functions or not comprehensions:
        return list(body)
    taken = {*names_in(nodes), *all_parameters(definition), *(a.arg for f in functions for a in _parameters(f))}
    new: dict[ast.AST, dict[str, str]] = {}
    for comprehension in comprehensions:
        inside = {id(x) for x in every_node(comprehension)}
        seen = set().union(*(_seen_by(f) for f in functions if id(f) not in inside))
        if both := _targets(comprehension) & seen:
            new[comprehension] = {name: _free_name(name, taken) for name in sorted(both)}
    return [renamed(s, {}, new) for s in body] if new else list(body)


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _parameters(function: ast.FunctionDef | ast.Lambda) -> list[ast.arg]:
    return [x for x in every_node(function.args) if isinstance(x, ast.arg)]


def _seen_by(function: ast.FunctionDef | ast.Lambda) -> set[str]:
    """The names of the functions around it that a function may use."""
    body = function.body if isinstance(function.body, list) else [function.body]
    outside = {name for x in body for node in every_node(x) if isinstance(node, ast.Nonlocal) for name in node.names}
    return {*names_in(body)} - ({a.arg for a in _parameters(function)} | stored(body) - outside)


def _targets(comprehension: Comprehension) -> set[str]:
    return {*names_in([g.target for g in comprehension.generators], ast.Store)}


def renamed(node: Any, names: Mapping[str, str], new: Mapping[ast.AST, Mapping[str, str]] = MappingProxyType({})) -> Any:
    """A node with other names for variables: those of `names`, and in each comprehension its own ones, which `new` has."""
    if isinstance(node, list):
        return [renamed(x, names, new) for x in node]
    if not isinstance(node, ast.AST) or isinstance(node, ast.expr_context):
        return node
    result: Any = copy(node)
    inner: Mapping[str, str] = names
    match node:
        case ast.Name(name) if name in names:
            result.id = names[name]
        case ast.MatchAs(name=str(name)) if name in names:
            result.name = names[name]
        case ast.Lambda():
            own = {a.arg for a in _parameters(node)}
            inner = {x: y for x, y in names.items() if x not in own}
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            own = _targets(node)
            inner = {x: y for x, y in names.items() if x not in own} | dict(new.get(node, {}))
    for field, value in ast.iter_fields(node):
        if field not in ("id", "name"):
            setattr(result, field, renamed(value, names if isinstance(value, ast.arguments) else inner, new))
    if isinstance(node, Comprehension):  # the first list is computed before there is such a variable
        result.generators[0].iter = renamed(node.generators[0].iter, names, new)
    return result
