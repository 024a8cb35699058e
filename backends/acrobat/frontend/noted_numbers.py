"""What compiling notes of numbers that become tensors, of which `possible_numbers.py` finds those that the model returns.

A number becomes a tensor where it stands in a place that has tensors too: `total = 0.0` before a loop that adds tensors. The
operation that makes this tensor is noted, by itself: the same operation may also be what the model has written. Of the names
that have a number at first (`evaluator/rewriting/numbers_given.py`) it is noted what else is assigned to them, and where the
program has asked whether they hold that number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backends.acrobat.core.types import DataT, TensorT
from backends.acrobat.frontend.builder import Builder
from backends.acrobat.frontend.kinds import type_or_none, variable_of
from backends.acrobat.frontend.values import Dyn, Value
from backends.acrobat.ir import nodes as n

Name = tuple[Any, str]
"""A name, or a variable, in the function with a key."""


class NotedNumbers:
    """The notes of one round of compiling. Nodes are found by their ids, and kept so that these stay theirs."""

    def __init__(self) -> None:
        self.numbers: dict[int, n.Expr] = {}  # operations that make a tensor of a number
        self.operands: dict[int, n.Expr] = {}  # those that make one of a number for an operation on tensors
        self.powers: dict[int, tuple[n.Expr, tuple[Any, Any]]] = {}  # the last operation of each power, with base and exponent
        self.asked: dict[int, tuple[n.If, bool, Sequence[Name], Sequence[str]]] = {}
        """The choices of which one arm is taken where not all these names hold their number, or not all these lists are empty:
        then it computes a tensor. Whether that is the first arm."""
        self.assigned: dict[Name, set[str]] = {}  # variables -> the names that are to hold tensors where they hold these
        self.doubtful: set[Name] = set()  # names to which something else than a tensor is assigned
        self.computed_from: dict[Name, set[str]] = {}  # names that hold a number where these do

    def note_number(self, builder: Builder, value: Value) -> None:
        """Note that a value that was just computed is made of a number."""
        if (expr := _bound_to(builder, value)) is not None:
            self.numbers[id(expr)] = expr

    def note_operand(self, builder: Builder, value: Value) -> None:
        """Note that a value that was just computed is a number as an operand."""
        if (expr := _bound_to(builder, value)) is not None:
            self.operands[id(expr)] = expr

    def note_power(self, builder: Builder, value: Value, base: Value, exponent: Value) -> None:
        """Note that a value that was just computed is a power."""
        if (expr := _bound_to(builder, value)) is not None:
            self.powers[id(expr)] = expr, (getattr(base, "atom", None), getattr(exponent, "atom", None))

    def note_asked(self, builder: Builder, value: Value, first: bool, names: Sequence[Name], lists: Sequence[Value]) -> None:
        """Note that a choice that was just compiled gives what is made of numbers where all these names hold theirs, and all
        these lists are empty, and otherwise a tensor; by its first arm, or by its second one."""
        expr, variables = _bound_to(builder, value), [variable_of(x) for x in lists]
        if isinstance(expr, n.If) and all(variables):
            self.asked[id(expr)] = expr, first, names, variables

    def note_assigned(self, name: Name, value: Value) -> None:
        """Note what a name holds that says of itself that it does not hold its number."""
        key, written = name
        if isinstance(type_or_none(value), (TensorT, DataT)) and (variable := variable_of(value)):
            self.assigned.setdefault((key, variable), set()).add(written)
        else:
            self.doubtful.add(name)

    def note_computed(self, name: Name, names: Sequence[str], lists: Sequence[Value]) -> None:
        """Note that a name says of itself that it holds a number where these names do, and these lists are empty."""
        key, written = name
        self.computed_from.setdefault(name, set()).update(names)
        for each in lists:
            self.assigned.setdefault((key, variable_of(each)), set()).add(written)


def _bound_to(builder: Builder, value: Value) -> n.Expr | None:
    """The expression of the last binding, if that is the value's."""
    var, expr = builder.bindings[-1] if builder.bindings else (None, None)
    return expr if isinstance(value, Dyn) and value.atom == var else None
