"""Values of type NEVER: those whose computation always raises an error, such as an element of a list that nothing is ever put
into.

An operation on such a value is never executed. Its result is the value itself.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.tables import ATTRIBUTES, CALLS, ITERATION, LENGTHS, SUBSCRIPTS, TRUTHS, handles
from backends.acrobat.frontend.kinds import is_never
from backends.acrobat.frontend.values import Static, TupleV, Value


def among_operands(values: Sequence[Value]) -> Value | None:
    """The first operand of type NEVER, which is then the result of the operation; None if there is none."""
    return next(filter(is_never, values), None)


@handles(ATTRIBUTES, "never")
@handles(SUBSCRIPTS, "never")
@handles(CALLS, "never")
def _same(f: Frame, node: ast.AST, value: Value, *others: Any) -> Value:
    return value


@handles(ITERATION, "never")
def _no_rounds(f: Frame, value: Value) -> Value:
    return TupleV(())


@handles(LENGTHS, "never")
def _length(f: Frame, value: Value) -> Value:
    return value


@handles(TRUTHS, "never")
def _truth(f: Frame, value: Value, node: ast.AST) -> Value:
    return Static(False)
