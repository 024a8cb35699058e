"""Loops that replace the current item of a list in an attribute, `for i, k in enumerate(self.keys): self.keys[i] = k[:n]`, as
loops over a copy of the list: an item that was reached already is not asked for again."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from copy import copy
from typing import Any

from backends.acrobat.frontend.changing_methods import root_of
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted_expression, replaced_in
from backends.acrobat.frontend.syntax_nodes import every_node, is_variable, mentions


def numbered_walks(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements of a function with such loops over copies."""
    if not any(_replaces_items(x) for s in body for x in every_node(s)):
        return list(body)

    def over_copy(node: ast.AST) -> Any:
        if not _replaces_items(node):
            return node
        result = copy(node)
        (walked,) = node.iter.args  # type: ignore[attr-defined]
        result.iter = copy(node.iter)  # type: ignore[attr-defined]
        result.iter.args = [quoted_expression(walked, "list(whole)", whole=walked)]  # type: ignore[attr-defined]
        return result

    return replaced_in(body, over_copy)


def _replaces_items(node: ast.AST) -> bool:
    """Whether a node is such a loop, and nothing else in it may change the list."""
    match node:
        case ast.For(ast.Tuple([ast.Name(at), _]), ast.Call(ast.Name("enumerate"), [ast.Attribute() as path], [])):
            pass
        case _:
            return False
    whole, root = ast.unparse(path), root_of(path)
    inside = [x for s in node.body for x in every_node(s)]
    items = [x for x in inside if isinstance(x, ast.Subscript) and ast.unparse(x.value) == whole]
    put = [x for x in items if not isinstance(x.ctx, ast.Load)]
    read_only = all(isinstance(x.ctx, ast.Load) for x in inside if isinstance(x, ast.Attribute) and ast.unparse(x) in whole)
    if not put or not root or not read_only or mentions(node.body, at, ast.Store) or mentions(node.body, root, ast.Store):
        return False
    if not all(isinstance(x.ctx, ast.Store) and is_variable(x.slice, at) for x in put):
        return False
    calls = [x for x in inside if isinstance(x, ast.Call)]
    given = [a for x in calls for a in (*x.args, *(k.value for k in x.keywords))]
    return not any(_sees(x.func, whole, root) for x in calls) and not any(ast.unparse(a) in (root, whole) for a in given)


def _sees(function: ast.expr, whole: str, root: str) -> bool:
    """Whether what is called may be a method of the list, or of an object that has it."""
    return isinstance(function, ast.Attribute) and ast.unparse(function.value) in (whole, root, *_owners(whole))


def _owners(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:i]) for i in range(1, len(parts))]
