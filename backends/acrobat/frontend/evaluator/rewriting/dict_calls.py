"""`dict(d, name=value)` is compiled as the display `{**dict(d), "name": value}`, and `d.get(key, {}).get(name, value)` as
`d[key].get(name, value) if key in d else value`, because an empty dictionary has no common type with one that has names as
keys. The default in `for x in d.get(key, ())`, and in `set(d.get(key, ()))`, becomes an empty list, which has a common type
with other lists."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Set
from copy import copy
from typing import Any

from backends.acrobat.frontend.evaluator.syntax.quoting import quoted_expression, replaced
from backends.acrobat.frontend.syntax_nodes import bound_names, every_node


class DictCall(ast.Dict):
    """The display for a call of `dict` with arguments by name. Unlike those of a display its entries, but for those that are
    taken from the argument by position, have another key each."""

    by_position = 0
    """How many of the first parts are arguments by position: none or one."""


def with_displays(definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> ast.FunctionDef:
    """A function with these in place of such calls. `namespace` has the values of the names from outside of it."""
    if any(_of_nothing(x, frozenset()) for x in every_node(definition)):
        taken = bound_names(definition) | namespace.keys()
        definition = replaced(definition, lambda x: _of_nothing(x, taken) or x)
    calls = [x for x in every_node(definition) if _of_dict(x)]
    if not calls or "dict" in bound_names(definition) or namespace.get("dict", dict) is not dict or builtins.dict is not dict:
        return definition
    return replaced(definition, lambda x: as_display(x, x.func) if _of_dict(x) else x)  # type: ignore[no-any-return]


def _of_nothing(node: ast.AST, taken: Set[str]) -> ast.AST | None:
    """The replacement of `d.get("key", {}).get("name", value)`, of a loop over `d.get(key, ())`, or of `set(d.get(key, ()))`
    and the like; None for other nodes. `taken`: names that do not stand for Python's own functions."""
    match node:
        case (
            ast.For(iter=ast.Call(ast.Attribute(attr="get"), [key, ast.Tuple([])], []) as walked)
            | ast.comprehension(iter=ast.Call(ast.Attribute(attr="get"), [key, ast.Tuple([])], []) as walked)
        ):
            result = copy(node)
            result.iter = quoted_expression(walked, "get(key, [])", get=walked.func, key=key)
            return result
        case ast.Call(
            ast.Name("set" | "frozenset" | "list" | "sorted" | "len" as name),
            [ast.Call(ast.Attribute(attr="get"), [key, ast.Tuple([])], []) as walked],
            _,
        ) if name not in taken:
            call = copy(node)
            call.args = [quoted_expression(walked, "get(key, [])", get=walked.func, key=key)]
            return call
        case ast.Call(
            ast.Attribute(
                ast.Call(ast.Attribute(ast.Name() as d, "get"), [ast.Constant(str()) as key, ast.Dict([])], []), "get"
            ),
            [ast.Constant()] | [ast.Constant(), ast.Constant()] as arguments,
            [],
        ):
            otherwise = arguments[1] if len(arguments) > 1 else ast.Constant(None)
            text = "d[key].get(name, otherwise) if key in d else otherwise"
            return quoted_expression(node, text, d=d, key=key, name=arguments[0], otherwise=otherwise)
    return None


def _of_dict(node: ast.AST) -> bool:
    """Whether a node is a call of what is named `dict`, with arguments by name."""
    match node:
        case ast.Call(ast.Name("dict"), [] | [_] as args, [_, *_]):
            return not any(isinstance(a, ast.Starred) for a in args)
    return False


def as_display(node: ast.Call, dict_: ast.expr) -> DictCall:
    """The display for the arguments of a call, as `dict_` takes them: one by position at most, and others by name."""
    keys: list[ast.expr | None] = [None] * len(node.args)
    values: list[ast.expr] = [ast.copy_location(ast.Call(dict_, [a], []), node) for a in node.args]
    for k in node.keywords:
        keys.append(None if k.arg is None else ast.copy_location(ast.Constant(k.arg), k))
        values.append(k.value)
    display = DictCall(keys, values)
    display.by_position = len(node.args)
    return ast.copy_location(display, node)
