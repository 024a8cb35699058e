"""`name := value` as an assignment before the statement in which it stands."""

from __future__ import annotations

import ast
from copy import copy
from typing import Any

from backends.acrobat.frontend.evaluator.syntax.own_nodes import own_nodes


def names_inside(node: ast.AST) -> bool:
    """Whether a node contains `name := value`."""
    return any(isinstance(x, ast.NamedExpr) for x in own_nodes(node))


def _start(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


class Hoist:
    """Takes each `name := value` that is always computed out of an expression: `before` gets an assignment, the name takes its
    place. A `:=` that is not always computed stays, and so does one after a call or a use of its name, which would notice the
    earlier assignment. What stays is refused when it is compiled."""

    def __init__(self, whole: ast.AST) -> None:
        self.before: list[ast.stmt] = []
        self.whole = whole

    def _first(self, node: ast.NamedExpr) -> bool:
        """Whether nothing that is computed before `node` reads its name or is a call."""
        for other in own_nodes(self.whole):
            match other:
                case ast.Name(name, ast.Load()) if name == node.target.id and _start(other) < _start(node):
                    return False
                case ast.Call() if _end(other) <= _start(node):
                    return False
        return True

    def visit(self, node: Any) -> Any:
        if not names_inside(node):
            return node
        result = copy(node)
        match node:
            case ast.NamedExpr() if not self._first(node):
                return node
            case ast.NamedExpr(target, value):
                inner = self.visit(value)
                self.before.append(ast.copy_location(ast.Assign([copy(target)], inner), node))
                return ast.copy_location(ast.Name(target.id, ast.Load()), node)
            case ast.BoolOp():
                result.values = [self.visit(node.values[0]), *node.values[1:]]
                return result
            case ast.IfExp():
                result.test = self.visit(node.test)
                return result
            case ast.Compare():
                result.left = self.visit(node.left)
                result.comparators = [self.visit(node.comparators[0]), *node.comparators[1:]]
                return result
            case ast.Lambda() | ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                return node
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                setattr(result, name, self.visit(value))
            elif isinstance(value, list):
                setattr(result, name, [self.visit(x) if isinstance(x, ast.AST) else x for x in value])
        return result
