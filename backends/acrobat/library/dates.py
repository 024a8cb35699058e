"""Dates, and the days between two of them, as `datetime` has them: in the Gregorian calendar, which goes on before it began."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple


class Time(NamedTuple):
    """The `struct_time` of a date."""

    tm_year: int
    tm_mon: int
    tm_mday: int
    tm_hour: int
    tm_min: int
    tm_sec: int
    tm_wday: int
    tm_yday: int
    tm_isdst: int


@dataclass(frozen=True, order=True, repr=False)
class Days(timedelta):
    """A `timedelta` of whole days."""

    days: int

    @property
    def seconds(self):
        return 0

    @property
    def microseconds(self):
        return 0

    def total_seconds(self):
        return self.days * 86400.0

    def __bool__(self):
        return self.days != 0

    def __neg__(self):
        return Days(-self.days)

    def __add__(self, other):
        if isinstance(other, date):
            return other + self
        return Days(self.days + other.days)

    def __sub__(self, other):
        return Days(self.days - other.days)

    def __str__(self):
        if self.days == 0:
            return "0:00:00"
        return f"{self.days} day, 0:00:00" if abs(self.days) == 1 else f"{self.days} days, 0:00:00"


@dataclass(frozen=True, order=True, repr=False)
class Date(date):
    """A `date`; its fields are in the order in which dates are compared."""

    year: int
    month: int
    day: int

    def toordinal(self):
        return days_before_year(self.year) + days_before_month(self.year, self.month) + self.day

    def weekday(self):
        return (self.toordinal() + 6) % 7

    def isoweekday(self):
        return (self.toordinal() + 6) % 7 + 1

    def isoformat(self):
        return f"{self.year:04d}-{self.month:02d}-{self.day:02d}"

    def timetuple(self):
        of_year = days_before_month(self.year, self.month) + self.day
        return Time(self.year, self.month, self.day, 0, 0, 0, self.weekday(), of_year, -1)

    def replace(self, year=None, month=None, day=None):
        return date_of(
            self.year if year is None else year,
            self.month if month is None else month,
            self.day if day is None else day,
        )

    def __str__(self):
        return self.isoformat()

    def __sub__(self, other):
        if isinstance(other, timedelta):
            return date_of_ordinal(self.toordinal() - other.days)
        return Days(self.toordinal() - other.toordinal())

    def __add__(self, other):
        return date_of_ordinal(self.toordinal() + other.days)


def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_before_year(year):
    before = year - 1
    return before * 365 + before // 4 - before // 100 + before // 400


def days_before_month(year, month):
    days = (367 * month - 362) // 12
    if month > 2:
        return days - 1 if is_leap(year) else days - 2
    return days


def days_in_month(year, month):
    if month == 2:
        return 29 if is_leap(year) else 28
    return 30 + (month + month // 8) % 2


def date_of(year, month, day):
    """The date with this year, month and day."""
    if not 1 <= year <= 9999:
        raise ValueError("a year is in 1..9999")
    if not 1 <= month <= 12:
        raise ValueError("month must be in 1..12")
    if not 1 <= day <= days_in_month(year, month):
        raise ValueError("day is out of range for month")
    return Date(year, month, day)


def date_of_ordinal(ordinal):
    """The date that is the `ordinal`th day, of which the first is the first of January of the year 1."""
    if not 1 <= ordinal <= 3652059:
        raise OverflowError("date value out of range")
    year = (ordinal - 1) * 400 // 146097 + 1
    if days_before_year(year + 1) < ordinal:
        year += 1
    if days_before_year(year) >= ordinal:
        year -= 1
    of_year = ordinal - days_before_year(year)
    month = min(of_year // 29 + 1, 12)
    while days_before_month(year, month) >= of_year:
        month -= 1
    return Date(year, month, of_year - days_before_month(year, month))


def days_of(days=0):
    """The `timedelta` of so many days, an int."""
    return Days(days)
