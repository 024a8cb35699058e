"""Dates: classes of Python's own whose objects are values. The program has the dataclasses of `library/dates.py` in their
place, which are compiled as any class of the source; outside of it there are Python's own."""

from __future__ import annotations

import datetime
from typing import Any

from backends.acrobat.library.dates import Date, DateTime, Delta

CLASSES: dict[type, type] = {datetime.date: Date, datetime.datetime: DateTime, datetime.timedelta: Delta}
"""Python's class -> the dataclass that the program has in its place."""
OF_PYTHON = {ours: theirs for theirs, ours in CLASSES.items()}


FIELDS: dict[type, tuple[str, ...]] = {
    datetime.date: ("year", "month", "day"),
    datetime.datetime: ("year", "month", "day", "hour", "minute", "second", "microsecond"),
    datetime.timedelta: ("days", "seconds", "microseconds"),
}
"""Python's class -> the names of its fields, in the order in which objects are made of them."""


def fields_of_date(value: Any) -> dict[str, Any] | None:
    """The fields of a date, time or time between such, by name; None for all other values, also times with a time zone,
    and objects of derived classes."""
    names = FIELDS.get(type(value)) if getattr(value, "tzinfo", None) is None else None
    return None if names is None else {x: getattr(value, x) for x in names}
