"""Sets of ints that are walked over in Python's order, which `library/set_order.py` computes: those made by adding the elements
of a list one after the other (`set(xs)`), and differences of one and another set (`set(range(n)) - set(chosen)`)."""

from __future__ import annotations

import ast

from backends.acrobat.core.types import INT, SET, ListT
from backends.acrobat.frontend.evaluator.containers.containers import items_of
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.lists.walking import no_order
from backends.acrobat.frontend.evaluator.tables import ITERATION, handles
from backends.acrobat.frontend.kinds import is_unknown, kind, type_or_none, variable_of
from backends.acrobat.frontend.values import Dyn, Value, is_empty, unknown
from backends.acrobat.library import set_order

OF_INTS = ListT(INT, kind=SET)


def note_made(f: Frame, made: Value, of: Value) -> Value:
    """Note that the set `made` was made by adding the elements of `of`, which may be any value; gives the set."""
    if type_or_none(made) == OF_INTS and variable_of(made) and kind(of) not in ("set", "dict"):
        f.added[variable_of(made)] = items_of(made), None
    return made


def note_difference(f: Frame, left: Value, a: Value, b: Value) -> Value:
    """Note that the set `left` is a new one with the elements of the set `a` that the set `b` has not; gives the set."""
    added, without = f.added.get(variable_of(a), (None, None))
    if added is not None and without is None and type_or_none(left) == type_or_none(b) == OF_INTS:
        f.added[variable_of(left)] = added, items_of(b)
    return left


def is_view(written: ast.AST) -> bool:
    """Whether an operand is `d.keys()` or `d.items()`: Python leaves `s - d.keys()` to the dictionary."""
    return isinstance(written, ast.Call) and isinstance(written.func, ast.Attribute) and written.func.attr in ("keys", "items")


def has_known_order(f: Frame, value: Value) -> bool:
    return kind(value) == "set" and variable_of(value) in f.added


@handles(ITERATION, "set")
def _in_order(f: Frame, whole: Dyn) -> Value:
    if is_unknown(whole) and not is_empty(whole):
        return unknown()
    if not has_known_order(f, whole):
        raise no_order()
    added, without = f.added[variable_of(whole)]
    if without is None:
        return f.call_with(set_order.in_order, [added])
    return f.call_with(set_order.in_order_without, [added, without])
