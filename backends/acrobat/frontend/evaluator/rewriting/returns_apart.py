"""Results of `forward` that are chosen before they are returned, where some have a number that is written in the source:

    return (h, score) if words else (None, 0.0)

    if words:
        result = h, score
    else:
        result = None, 0.0
    return result

    loss = score if words else 0.0

Each becomes an `if` with a `return` in both of its arms, or with the assignment in both. The values of such arms are told
apart, where what is chosen in an expression, or has one name behind its branches, is of one type: that of the tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from backends.acrobat.frontend.evaluator.syntax.own_nodes import own_nodes_of
from backends.acrobat.frontend.evaluator.syntax.quoting import copied
from backends.acrobat.frontend.syntax_nodes import every_node, names_in

ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def with_returns_apart(definition: ast.FunctionDef) -> ast.FunctionDef:
    """The function with the choices in its results rewritten as statements. The same object if no choice contains such a
    number."""
    returned = {x for s in own_nodes_of(definition) if isinstance(s, ast.Return) for x in _names_of_parts(s.value)}
    apart = _SplitChoices(returned)
    changed = deepcopy(definition)
    changed.body = apart.body(changed.body)
    return changed if apart.found else definition


def has_number(node: ast.expr | None) -> bool:
    """Whether a number is written among the parts of a tuple, list or dictionary."""
    match node:
        case ast.Tuple(parts) | ast.List(parts) | ast.Dict(values=parts):
            return any(is_number(x) or has_number(x) for x in parts)
    return False


def _names_of_parts(node: ast.expr | None) -> Iterator[str]:
    """The names that are a result, or a part of a tuple, list or dictionary that is."""
    match node:
        case ast.Name(name):
            yield name
        case ast.Tuple(parts) | ast.List(parts) | ast.Dict(values=parts):
            for part in parts:
                yield from _names_of_parts(part)


def is_number(node: ast.AST | None) -> bool:
    """Whether an expression is a number that is written in the source."""
    node = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)) else node
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


class _SplitChoices(ast.NodeTransformer):
    """Writes conditional expressions that choose what a function returns as `if` statements, and moves a `return` that follows
    one into both arms. `returned`: the names that are parts of what the function returns."""

    def __init__(self, returned: set[str]) -> None:
        self.returned = returned
        self.found = False

    def body(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements of a body, in which a `return` that follows an `if` stands in both arms of it."""
        body = [self.visit(s) for s in body]
        match body:
            case [*before, ast.If() as choice, ast.Return(ast.expr() as value) as last] if self._chooses(choice, value):
                self.found = True
                choice.body, choice.orelse = (self._ended(arm, copied(last)) for arm in (choice.body, choice.orelse))
                return [*before, choice]
        return list(body)

    def _ended(self, body: Sequence[ast.stmt], last: ast.stmt) -> list[ast.stmt]:
        """A body followed by another statement, unless the body leaves the function or loop before that."""
        return self.body(body if body and isinstance(body[-1], ENDS) else [*body, last])

    def _chooses(self, choice: ast.If, value: ast.expr) -> bool:
        """Whether an `if` assigns something with a number in it to a name which is returned as it is."""
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        names = {x.id for x in parts if isinstance(x, ast.Name)}
        assigned = [x for x in every_node(choice) if isinstance(x, ast.Assign) and has_number(x.value)]
        return len(names) == len(parts) and any(names & {*names_in(x, ast.Store)} for x in assigned)

    def visit(self, node: ast.AST) -> Any:
        match node:
            case ast.FunctionDef() | ast.ClassDef() | ast.expr():
                return node
            case ast.Return(ast.IfExp(test, one, other)) if has_number(one) or has_number(other):
                return self._as_if(node, test, ast.Return(one), ast.Return(other))
            case ast.Assign([ast.Name(name) as target], ast.IfExp(test, one, other)) if name in self.returned and any(
                map(is_number, (one, other))
            ) | has_number(one) | has_number(other):
                return self._as_if(node, test, ast.Assign([target], one), ast.Assign([copied(target)], other))
            case ast.If():
                node.body, node.orelse = self.body(node.body), self.body(node.orelse)
                return node
        return self.generic_visit(node)

    def _as_if(self, node: ast.stmt, test: ast.expr, one: ast.stmt, other: ast.stmt) -> ast.If:
        self.found = True
        arms = [[self.visit(ast.copy_location(s, node))] for s in (one, other)]
        return ast.copy_location(ast.If(test, *arms), node)
