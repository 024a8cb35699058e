"""Python's functions of numbers: `int`, `float`, `abs`, `divmod`, `pow`, `round`; and `str`. What attributes numbers have."""

from __future__ import annotations

import ast

from backends.acrobat.core.types import FLOAT, INT
from backends.acrobat.frontend.evaluator.choices.choice import fail
from backends.acrobat.frontend.evaluator.choices.nones import opened
from backends.acrobat.frontend.evaluator.frame.compiled_nodes import CompiledNode
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.scalars.formatting import Shown, shown
from backends.acrobat.frontend.evaluator.scalars.operators import as_int, binary
from backends.acrobat.frontend.evaluator.scalars.strings import number
from backends.acrobat.frontend.evaluator.syntax.quoting import quoted_expression
from backends.acrobat.frontend.evaluator.tables import BUILTINS, METHODS, NUMBERS, handles
from backends.acrobat.frontend.kinds import is_number, is_object, kind, known, type_of
from backends.acrobat.frontend.specials import Method
from backends.acrobat.frontend.values import Static, TupleV, Value
from backends.acrobat.library import numbers, rounding

PARTS = ("real", "imag", "numerator", "denominator")
"""Attributes of numbers; floats have the first two."""


def attribute(f: Frame, value: Value, name: str) -> Value | None:
    """An attribute, or a method, that ints or floats have in Python; None for all others."""
    python = float if type_of(value) == FLOAT else int
    if not hasattr(python, name):  # `is_integer` of ints is newer than Python 3.11
        return None
    if name in numbers.METHODS:
        return Method(value, name)
    if name not in PARTS:
        return None
    if name in ("real", "numerator"):
        return as_int(f, value)
    return Static(python(name == "denominator"))


def method(f: Frame, node: ast.AST, owner: Value, name: str, args: list[Value]) -> Value | None:
    """The result of a method that ints or floats have in Python; None for all others."""
    if args or name not in numbers.METHODS or not hasattr(float if type_of(owner) == FLOAT else int, name):
        return None
    return f.program.call(f, node, numbers.METHODS[name], [as_int(f, owner)], {})


@handles(BUILTINS, "divmod")
def _divmod(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    if len(args) != 2:
        return None
    return TupleV(tuple(binary(f, node, op, *args) for op in (ast.FloorDiv(), ast.Mod())))


@handles(BUILTINS, "pow")
def _pow(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    return binary(f, node, ast.Pow(), *args) if len(args) == 2 else None


@handles(BUILTINS, "abs")
def _abs(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    if len(args) != 1:
        return None
    is_known, x = known(args[0])
    if is_known:
        return Static(abs(x))
    if is_number(args[0]):
        a = as_int(f, args[0])
        return f.host("abs", [a], type_of(a))
    if is_object(args[0]):
        return f.expression(quoted_expression(node, "whole.__abs__()", whole=CompiledNode(args[0])))
    rule = METHODS.get(kind(args[0]))
    return None if rule is None else rule(f, node, Method(args[0], "abs"), [], {})


@handles(BUILTINS, "round")
def _round(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    facts = [known(a) for a in args]
    if all(is_known for is_known, _ in facts):
        return Static(round(*(x for _, x in facts)))
    return f.program.call(f, node, rounding.rounded, args, {})


@handles(BUILTINS, "str")
def _str(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    return shown(f, Shown(args[0])) if len(args) == 1 else None


@handles(BUILTINS, "repr")
def _repr(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    return shown(f, Shown(args[0], conversion="r")) if len(args) == 1 else None


@handles(BUILTINS, "int")
def _int(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    return _number(f, int, args)


@handles(BUILTINS, "float")
def _float(f: Frame, node: ast.Call, args: list[Value], hint: str) -> Value | None:
    return _number(f, float, args)


def _number(f: Frame, convert: type[int | float], args: list[Value]) -> Value | None:
    if len(args) != 1:
        return None
    if kind(args[0]) == "string":
        return number(f, args[0], INT if convert is int else FLOAT)
    value = opened(f, ast.Pass(), args[0])  # None is an error of the instance
    rule = NUMBERS.get(kind(value))
    a = value if rule is None else rule(f, value)
    is_known, x = known(a)
    if is_known:
        try:
            return Static(convert(x))
        except (TypeError, ValueError, OverflowError) as error:  # as in Python, only if it is computed
            return fail(f, f"{type(error).__name__}: {error}")
    if not is_number(a):
        return None
    target = INT if convert is int else FLOAT
    return a if type_of(a) == target else f.host(convert.__name__, [a], target)
