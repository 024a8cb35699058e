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
from backends.acrobat.frontend.instances.dates import CLASSES, fields_of_date
from backends.acrobat.frontend.kinds import is_unknown, known, type_or_none
from backends.acrobat.frontend.values import Static, Value
from backends.acrobat.library import dates


def _as_value(f: Frame, value: Value) -> Value | None:
    """A constant date, or a constant number of days, as an object of the program; None for other constants."""
    if not isinstance(value, Static) or type(value.value) not in CLASSES:
        return None
    fields = fields_of_date(value.value)
    if fields is None:
        raise Refused("a `datetime` has no time zone here", "convert it: `t.astimezone(UTC).replace(tzinfo=None)`")
    return construct(f, ast.Pass(), CLASSES[type(value.value)], list(map(Static, fields.values())), {})


STAGED.append(_as_value)


@handles(FUNCTIONS, datetime.date)
def _date(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return _made(f, node, dates.date_of, CallArguments("date", args, kwargs).bind("year", "month", "day"))


@handles(FUNCTIONS, datetime.date.fromordinal)
def _from_ordinal(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return _made(f, node, dates.date_of_ordinal, CallArguments("date.fromordinal", args, kwargs).bind("ordinal"))


@handles(FUNCTIONS, datetime.datetime)
def _datetime(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    names = ("year", "month", "day", "hour", "minute", "second", "microsecond")
    defaults = dict.fromkeys(names[3:], Static(0))
    return _made(f, node, dates.datetime_of, CallArguments("datetime", args, kwargs).bind(*names, **defaults))


@handles(FUNCTIONS, datetime.date.fromisoformat)
def _date_of_text(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return f.call_with(dates.date_of_text, CallArguments("date.fromisoformat", args, kwargs).bind("date_string"), node)


@handles(FUNCTIONS, datetime.datetime.fromisoformat)
def _datetime_of_text(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    return f.call_with(dates.datetime_of_text, CallArguments("datetime.fromisoformat", args, kwargs).bind("date_string"), node)


UNITS = ("days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks")


@handles(FUNCTIONS, datetime.timedelta)
def _delta(f: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value], hint: str) -> Value:
    numbers = CallArguments("timedelta", args, kwargs).bind(*UNITS, **dict.fromkeys(UNITS, Static(0)))
    given = [known(x) for x in numbers]
    if all(is_known for is_known, _ in given):
        return Static(datetime.timedelta(*(x for _, x in given)))
    return _made(f, node, dates.delta_of, numbers)


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
