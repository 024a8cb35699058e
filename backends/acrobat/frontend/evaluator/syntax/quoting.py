"""New syntax trees: from Python's own text, in which names stand for parts of the source (quasi-quotation), and from others, of
which some nodes are replaced."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cache
from typing import Any, TypeVar

from backends.acrobat.frontend.evaluator.syntax.bodies import placed
from backends.acrobat.frontend.syntax_nodes import every_node

Node = TypeVar("Node", bound=ast.AST)


class OfPython(str):
    """The name of one of Python's own functions, which it means also where the source calls something else so."""


Part = ast.expr | str | Sequence[ast.stmt] | Sequence[ast.expr]


def quoted(where: ast.AST, text: str, /, **parts: Part) -> list[ast.stmt]:
    """The statements of a text, with the position of `where`. A name in the text that is a key of `parts` is replaced: by
    another name, or by an expression, which keeps its position and is copied from its second use on; if it is a statement of
    its own, by a list of statements, and with a `*` among arguments, by a list of these. Attributes with such names are
    replaced by names likewise. Other names stand for Python's own functions."""
    filling = _Filling(parts)
    filled = (filling.visit(copied(s)) for s in _statements(text))
    return [placed(where, s) for new in filled for s in (new if isinstance(new, list) else [new])]


def quoted_expression(where: ast.AST, text: str, /, **parts: Part) -> ast.expr:
    """As `quoted`, for the text of an expression."""
    (statement,) = quoted(where, text, **parts)
    assert isinstance(statement, ast.Expr)
    return statement.value


def copied(tree: Node) -> Node:
    """A copy that can be changed without changing the source's tree. Values that were compiled already are shared."""
    return replaced(tree, lambda node: node)  # type: ignore[no-any-return]


def replaced(tree: ast.AST, by: Callable[[Any], Any]) -> Any:
    """A copy of a tree with `by(node)` in place of each node, which is a copy whose own parts are replaced already; in place of
    a statement there may be a list of statements."""
    result = copy(tree)
    for name, value in ast.iter_fields(tree):
        if isinstance(value, list):
            setattr(result, name, replaced_in(value, by))
        elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
            setattr(result, name, replaced(value, by))
    return by(result)


def replaced_in(body: Sequence[Any], by: Callable[[Any], Any]) -> list[Any]:
    """As `replaced`, of several nodes; what is no node stays."""
    new = (replaced(x, by) if isinstance(x, ast.AST) else x for x in body)
    return [part for x in new for part in (x if isinstance(x, list) else [x])]


def attributes_as_names(tree: ast.AST, me: str, names: Mapping[str, str]) -> Any:
    """A copy of a tree with names in place of these attributes of the object that it calls `me`."""

    def as_name(node: ast.AST) -> ast.AST:
        match node:
            case ast.Attribute(ast.Name(owner), attr, ctx) if owner == me and attr in names:
                return ast.copy_location(ast.Name(names[attr], ctx), node)
        return node

    return replaced(tree, as_name)


@cache
def _statements(text: str) -> list[ast.stmt]:
    """The statements of a text, without positions."""
    tree = ast.parse(text)
    for node in every_node(tree):
        for position in node._attributes:
            if hasattr(node, position):
                delattr(node, position)
    return tree.body


class _Filling(ast.NodeTransformer):
    """Puts the parts in place of their names."""

    def __init__(self, parts: dict[str, Part]) -> None:
        self.parts = parts
        self.placed: set[str] = set()

    def visit_Name(self, node: ast.Name) -> Any:
        part = self.parts.get(node.id)
        if part is None:
            return ast.Name(OfPython(node.id), node.ctx) if hasattr(builtins, node.id) else node
        if isinstance(part, str):
            return ast.Name(part, node.ctx)
        if not isinstance(part, ast.expr):
            return [*part]
        if node.id in self.placed:
            part = copied(part)
        self.placed.add(node.id)
        if not isinstance(node.ctx, type(getattr(part, "ctx", node.ctx))):
            part = copy(part)
            part.ctx = node.ctx  # type: ignore[attr-defined]
        return part

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self.parts.get(node.attr, node.attr)  # type: ignore[assignment]
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        return self._alone(node)

    def visit_Starred(self, node: ast.Starred) -> Any:
        return self._alone(node)

    def _alone(self, node: ast.Expr | ast.Starred) -> Any:
        value = self.visit(node.value)
        if isinstance(value, list):
            return value
        node.value = value
        return node
