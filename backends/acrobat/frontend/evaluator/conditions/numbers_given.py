"""The choices between numbers and tensors that `rewriting/numbers_given.py` writes, and what is noted of them for
`possible_numbers.py`."""

from __future__ import annotations

import ast

from backends.acrobat.frontend.evaluator.conditions.conditions import decide
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.rewriting.numbers_given import HoldsOther, NumberOr
from backends.acrobat.frontend.evaluator.tables import EXPRESSIONS, handles
from backends.acrobat.frontend.values import Static, Value, unknown


@handles(EXPRESSIONS, NumberOr)
def _number_or(f: Frame, node: NumberOr, hint: str) -> Value:
    result = decide(f, node, node.test, lambda: f.expression(node.body), lambda: f.expression(node.orelse))
    if not f.trials:
        lists = [f.env.get(x, unknown()) for x in node.lists]
        first = isinstance(node.test, ast.UnaryOp)  # `not values`, for which the arms are the other way round
        f.program.noted.note_asked(f.builder, result, first, [(f.key, x) for x in node.names], lists)
        if node.of:
            f.program.noted.note_computed((f.key, node.of), node.names, lists)
    return result


@handles(EXPRESSIONS, HoldsOther)
def _holds_other(f: Frame, node: HoldsOther, hint: str) -> Value:
    if not f.trials:
        f.program.noted.note_assigned((f.key, node.name), f.env.get(node.name, unknown()))
    return Static(False)
