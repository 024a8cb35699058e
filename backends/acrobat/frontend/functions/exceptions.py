"""Functions whose exceptions are caught where they are called: their `raise` of such an exception becomes a `return` of it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from copy import copy, deepcopy
from types import FunctionType
from typing import Any

from backends.acrobat.frontend.evaluator.frame.arguments import Refused
from backends.acrobat.frontend.syntax_nodes import every_node

RAISED = "raised"
"""The attribute of a `return` that stands for a `raise`."""


def returning(definition: ast.FunctionDef, caught: type, namespace: Mapping[str, Any]) -> ast.FunctionDef:
    """A function with a `return` in place of each `raise` of an exception of the class `caught`. Raises Refused."""
    visitor = _RaisesAsReturns(caught, namespace)
    result = copy(definition)
    result.body = [visitor.visit(deepcopy(s)) for s in definition.body]
    return result


class _RaisesAsReturns(ast.NodeTransformer):
    def __init__(self, caught: type, namespace: Mapping[str, Any]) -> None:
        self.caught = caught
        self.namespace = namespace

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        match node.exc:
            case ast.Call(ast.Name(name)) | ast.Name(name):
                cls = self.namespace.get(name)
                if isinstance(cls, type) and issubclass(cls, self.caught):
                    result = ast.copy_location(ast.Return(_made(node.exc, cls)), node)
                    setattr(result, RAISED, True)
                    return result
        return node


def _made(written: ast.expr, cls: type) -> ast.expr:
    """The exception that `raise` makes, as the program keeps it: of a class without `__init__`, only that there is one."""
    if isinstance(cls.__init__, FunctionType):  # type: ignore[misc]
        return written if isinstance(written, ast.Call) else ast.copy_location(ast.Call(written, [], []), written)
    if any(isinstance(x, (ast.Call, ast.NamedExpr)) for a in getattr(written, "args", ()) for x in every_node(a)):
        raise Refused(f"what `{cls.__name__}` is given is not kept", "give the class an `__init__` that keeps it")
    return ast.copy_location(ast.Constant(0), written)
