"""Numbers that are read from tensors although the host has them: an int that was made a tensor, and the truth of a comparison
of such ints, as of the elements of `ids == 3`. The host computes these, so that no instance waits for them.

A float is rounded to float32 in a tensor, so what becomes of one stays a tensor.

Source: our own.
"""

from __future__ import annotations

from backends.acrobat.core.types import BOOL, FLOAT, INT
from backends.acrobat.ir.nodes import Atom, Host, Item, Lit, Op, Var
from backends.acrobat.passes.variables import Variables

COMPARISONS = {"less": "lt", "less_equal": "le", "equal": "eq"}
"""Comparison of tensors -> that of the host."""


def compared(value: Item, variables: Variables) -> Host | None:
    """The comparison, true or false, whose result as a tensor `value` reads, if it is one of ints of the host."""
    comparison = variables.value(value.tensor)
    if value.type != FLOAT or not isinstance(comparison, Op) or comparison.op not in COMPARISONS:
        return None
    numbers = [_number_in(a, variables) for a in comparison.args]
    if None in numbers or all(isinstance(x, Lit) for x in numbers):
        return None
    return Host(COMPARISONS[comparison.op], tuple(x for x in numbers if x is not None), BOOL, span=value.span)


def as_float(truth: Var) -> Host:
    return Host("float", (truth,), FLOAT, span=truth.span)


def whole_number(value: Item, variables: Variables) -> Host | None:
    """The number that `value` reads from a tensor, if that was made of an int of the host."""
    made = variables.value(value.tensor)
    if value.type != FLOAT or not isinstance(made, Op) or made.op != "scalar" or not _is_whole(made.args[0], variables):
        return None
    return Host("float32", made.args, FLOAT, span=value.span)


def _number_in(operand: Atom, variables: Variables) -> Atom | None:
    """The int that an operand of a comparison of tensors consists of, or the number that it is as a literal."""
    if isinstance(operand, Lit):
        whole = isinstance(operand.value, float) and operand.value.is_integer()
        return Lit(int(operand.value), INT) if whole else operand
    made = variables.value(operand)
    scalar = made.args[0] if isinstance(made, Op) and made.op == "scalar" else None
    return scalar if scalar is not None and scalar.type == INT else None


def _is_whole(number: Atom, variables: Variables) -> bool:
    """Whether a number of the host is an int, also one as a float."""
    made = variables.value(number)
    return number.type == INT or (isinstance(made, Host) and made.op == "float" and made.args[0].type in (INT, BOOL))
