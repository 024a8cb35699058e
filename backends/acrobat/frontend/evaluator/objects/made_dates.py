"""Dates and the days between them that the model makes, or that are constants of the source (`instances/dates.py`)."""

from __future__ import annotations

import ast
import datetime
from collections.abc import Callable
from types import BuiltinMethodType
from typing import Any

from backends.acrobat.core.types import INT
from backends.acrobat.frontend.evaluator.frame.arguments import CallArguments, Refused
from backends.acrobat.frontend.evaluator.frame.frame import Frame
from backends.acrobat.frontend.evaluator.objects.construction import construct
from backends.acrobat.frontend.evaluator.tables import FUNCTIONS, LIBRARY_RULES, STAGED, handles
from backends.acrobat.frontend.instances.dates import CLASSES
from backends.acrobat.frontend.kinds import is_unknown, known, type_or_none
from backends.acrobat.frontend.values import Static, Value
from backends.acrobat.library import dates


def _as_value(f: Frame, value: Value) -> Value | None:
    """A constant date, or a constant number of days, as an object of the program; None for other constants."""
    if not isinstance(value, Static) or type(value.value) not in CLASSES:
        return None
    x, names = value.value, ("year", "month", "day") if type(value.value) is datetime.date else ("days",)
    if isinstance(x, datetime.timedelta) and (x.seconds or x.microseconds):
        raise Refused("a `timedelta` is of whole days here", "compute with seconds as numbers")
    return construct(f, ast.Pass(), CLASSES[type(x)], [Static(getattr(x, name)) for name in names], {})


STAGED.append(_as_value)


@handles(FUNCTIONS, datetime.date)
def _date(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return _made(f, node, dates.date_of, CallArguments("date", args, kwargs).bind("year", "month", "day"))


@handles(FUNCTIONS, datetime.date.fromordinal)
def _from_ordinal(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return _made(f, node, dates.date_of_ordinal, CallArguments("date.fromordinal", args, kwargs).bind("ordinal"))


@handles(FUNCTIONS, datetime.timedelta)
def _days(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return _made(f, node, dates.days_of, CallArguments("timedelta", args, kwargs).bind("days", days=Static(0)))


def _made(f: Frame, node: ast.Call, function: Callable[..., Any], numbers: list[Value]) -> Value:
    """What a function of the library makes of these numbers, which are ints as in Python."""
    if not any(map(is_unknown, numbers)) and any(type_or_none(x) != INT for x in numbers):
        raise Refused("a date or a `timedelta` is made of ints here", "convert the number: `int(...)`")
    return f.call_with(function, numbers, node)


def _method_of_constant(value: Any) -> Callable[..., Value] | None:
    """A method of a constant date whose result is a constant too, such as `EPOCH.toordinal()`."""
    if not isinstance(value, BuiltinMethodType) or type(value.__self__) not in CLASSES:
        return None

    def work(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
        given = [known(x) for x in (*args, *kwargs.values())]
        if not all(is_known for is_known, _ in given):
            what = f"`{value.__name__}` of a constant date takes constants here"
            raise Refused(what, "write the arguments out")
        plain = [x for _, x in given]
        return f.program.wrap(value(*plain[: len(args)], **dict(zip(kwargs, plain[len(args) :], strict=True))))

    return work


LIBRARY_RULES.append(_method_of_constant)
