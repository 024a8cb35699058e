"""Dates: classes of Python's own whose objects are values. The program has the dataclasses of `library/dates.py` in their
place, which are compiled as any class of the source; outside of it there are Python's own."""

from __future__ import annotations

import datetime
from typing import Any

from backends.acrobat.library.dates import Date, Days

CLASSES: dict[type, type] = {datetime.date: Date, datetime.timedelta: Days}
"""Python's class -> the dataclass that the program has in its place."""
OF_PYTHON = {ours: theirs for theirs, ours in CLASSES.items()}


def fields_of_date(value: Any) -> dict[str, Any] | None:
    """The fields of a date by name; None for all other values, also those of classes derived from `date`."""
    return {x: getattr(value, x) for x in ("year", "month", "day")} if type(value) is datetime.date else None
