"""A node of the syntax tree for an expression that has been compiled already."""

from __future__ import annotations

import ast

from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import EXPRESSIONS, handles
from backends.acrobat.frontend.values import Value


class Given(ast.expr):
    """A syntax-tree node for an expression that has been compiled already, to `value`."""

    _fields = ()

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


@handles(EXPRESSIONS, Given)
def _given(f: Frame, node: Given, hint: str) -> Value:
    return node.value
