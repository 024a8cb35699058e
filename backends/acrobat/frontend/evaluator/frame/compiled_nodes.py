"""A node of the syntax tree for an expression that has been compiled already."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from copy import copy
from typing import Any

from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import EXPRESSIONS, handles
from backends.acrobat.frontend.values import Static, Value
from backends.acrobat.library import iteration


class CompiledNode(ast.expr):
    """A syntax-tree node for an expression that has been compiled already, to `value`."""

    _fields = ()

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value

    def __copy__(self) -> CompiledNode:
        return ast.copy_location(CompiledNode(self.value), self)

    def __deepcopy__(self, memo: Any) -> CompiledNode:
        return copy(self)


@handles(EXPRESSIONS, CompiledNode)
def _compiled_value(f: Frame, node: CompiledNode, hint: str) -> Value:
    return node.value


def dict_of(f: Frame, node: ast.AST, entries: Mapping[Any, Value]) -> Value:
    """The dictionary with these constant keys and these values, as if it were written out."""
    keys: list[ast.expr | None] = [ast.copy_location(ast.Constant(k), node) for k in entries]
    values: list[ast.expr] = [ast.copy_location(CompiledNode(v), node) for v in entries.values()]
    return f.expression(ast.copy_location(ast.Dict(keys, values), node))


def counter_object(start: ast.expr, step: ast.expr) -> ast.expr:
    """The expression that makes a counter which is an object (`rewriting/counting.py`)."""
    return ast.Call(CompiledNode(Static(iteration.Counter)), [start, step], [])
