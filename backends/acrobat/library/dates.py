"""Dates, times, and what lies between two of them, as `datetime` has them: in the Gregorian calendar, which goes on before it
began."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
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
class Delta(timedelta):
    """A `timedelta`: 0 <= seconds < 86400 and 0 <= microseconds < 1000000."""

    days: int
    seconds: int
    microseconds: int

    def in_microseconds(self):
        return (self.days * 86400 + self.seconds) * 1000000 + self.microseconds

    def total_seconds(self):
        return self.in_microseconds() / 1000000

    def __bool__(self):
        return self.days != 0 or self.seconds != 0 or self.microseconds != 0

    def __neg__(self):
        return delta_of(-self.days, -self.seconds, -self.microseconds)

    def __abs__(self):
        return -self if self.days < 0 else self

    def __add__(self, other):
        if isinstance(other, date):
            return other + self
        return delta_of(self.days + other.days, self.seconds + other.seconds, self.microseconds + other.microseconds)

    def __sub__(self, other):
        return delta_of(self.days - other.days, self.seconds - other.seconds, self.microseconds - other.microseconds)

    def __mul__(self, times):
        if isinstance(times, float):
            raise TypeError("a timedelta is multiplied by ints here")
        return delta_of(self.days * times, self.seconds * times, self.microseconds * times)

    def __truediv__(self, other):
        if isinstance(other, timedelta):
            return self.in_microseconds() / other.in_microseconds()
        raise TypeError("a timedelta is divided by a timedelta here")

    def __floordiv__(self, other):
        if isinstance(other, timedelta):
            return self.in_microseconds() // other.in_microseconds()
        return delta_of(0, 0, self.in_microseconds() // other)

    def __str__(self):
        minutes = self.seconds // 60
        text = f"{minutes // 60}:{minutes % 60:02d}:{self.seconds % 60:02d}"
        if self.days != 0:
            text = f"{self.days} day{'' if abs(self.days) == 1 else 's'}, {text}"
        return f"{text}.{self.microseconds:06d}" if self.microseconds != 0 else text


class OfCalendar:
    """What a `date` and a `datetime` have in common."""

    def toordinal(self):
        return days_before_year(self.year) + days_before_month(self.year, self.month) + self.day

    def weekday(self):
        return (self.toordinal() + 6) % 7

    def isoweekday(self):
        return (self.toordinal() + 6) % 7 + 1

    def isocalendar(self):
        return iso_calendar_of(self.year, self.toordinal())


@dataclass(frozen=True, order=True, repr=False)
class Date(OfCalendar, date):
    """A `date`; its fields are in the order in which dates are compared."""

    year: int
    month: int
    day: int

    def isoformat(self):
        return f"{self.year:04d}-{self.month:02d}-{self.day:02d}"

    def timetuple(self):
        of_year = days_before_month(self.year, self.month) + self.day
        return Time(self.year, self.month, self.day, 0, 0, 0, self.weekday(), of_year, -1)

    def strftime(self, format):
        return formatted(self.timetuple(), 0, format)

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
        return Delta(self.toordinal() - other.toordinal(), 0, 0)

    def __add__(self, other):
        return date_of_ordinal(self.toordinal() + other.days)


@dataclass(frozen=True, order=True, repr=False)
class DateTime(OfCalendar, datetime):
    """A `datetime` without a time zone; its fields are in the order in which they are compared."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    microsecond: int

    def date(self):
        return Date(self.year, self.month, self.day)

    def isoformat(self, sep="T"):
        text = f"{self.year:04d}-{self.month:02d}-{self.day:02d}{sep}{self.hour:02d}:{self.minute:02d}:{self.second:02d}"
        return f"{text}.{self.microsecond:06d}" if self.microsecond != 0 else text

    def timetuple(self):
        of_year = days_before_month(self.year, self.month) + self.day
        return Time(self.year, self.month, self.day, self.hour, self.minute, self.second, self.weekday(), of_year, -1)

    def strftime(self, format):
        return formatted(self.timetuple(), self.microsecond, format)

    def replace(self, year=None, month=None, day=None, hour=None, minute=None, second=None, microsecond=None):
        return datetime_of(
            self.year if year is None else year,
            self.month if month is None else month,
            self.day if day is None else day,
            self.hour if hour is None else hour,
            self.minute if minute is None else minute,
            self.second if second is None else second,
            self.microsecond if microsecond is None else microsecond,
        )

    def __str__(self):
        return self.isoformat(" ")

    def since_beginning(self):
        """The time since the day before the first one of all."""
        return Delta(self.toordinal(), (self.hour * 60 + self.minute) * 60 + self.second, self.microsecond)

    def __sub__(self, other):
        if isinstance(other, timedelta):
            return datetime_after(self.since_beginning() - other)
        return self.since_beginning() - other.since_beginning()

    def __add__(self, other):
        return datetime_after(self.since_beginning() + other)


class IsoCalendarDate(NamedTuple):
    year: int
    week: int
    weekday: int


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


def delta_of(days=0, seconds=0, microseconds=0, milliseconds=0, minutes=0, hours=0, weeks=0):
    """The `timedelta` of these ints."""
    microseconds += milliseconds * 1000
    seconds += minutes * 60 + hours * 3600 + microseconds // 1000000
    days += weeks * 7 + seconds // 86400
    if not -999999999 <= days <= 999999999:
        raise OverflowError(f"days={days}; must have magnitude <= 999999999")
    return Delta(days, seconds % 86400, microseconds % 1000000)


def datetime_of(year, month, day, hour=0, minute=0, second=0, microsecond=0):
    """The `datetime` with this date and time."""
    when = date_of(year, month, day)
    if not 0 <= hour <= 23:
        raise ValueError("hour must be in 0..23")
    if not 0 <= minute <= 59:
        raise ValueError("minute must be in 0..59")
    if not 0 <= second <= 59:
        raise ValueError("second must be in 0..59")
    if not 0 <= microsecond <= 999999:
        raise ValueError("microsecond must be in 0..999999")
    return DateTime(when.year, when.month, when.day, hour, minute, second, microsecond)


def datetime_after(delta):
    """The `datetime` so long after the day before the first one of all."""
    when = date_of_ordinal(delta.days)
    minutes = delta.seconds // 60
    return DateTime(when.year, when.month, when.day, minutes // 60, minutes % 60, delta.seconds % 60, delta.microseconds)


def iso_calendar_of(year, ordinal):
    """The week of a day in the calendar whose weeks begin on Mondays, and belong to the year with their Thursday."""
    thursday = ordinal - (ordinal + 6) % 7 + 3
    of_year = year
    if thursday <= days_before_year(year):
        of_year = year - 1
    elif thursday > days_before_year(year + 1):
        of_year = year + 1
    return IsoCalendarDate(of_year, (thursday - days_before_year(of_year) - 1) // 7 + 1, (ordinal + 6) % 7 + 1)


def number_in(text, start, stop):
    """The number that letters of a text are, which are all digits."""
    part = text[start:stop]
    if len(part) < stop - start or not part.isdigit():
        raise ValueError(f"Invalid isoformat string: {text!r}")
    return int(part)


def check_letter(text, at, letter):
    if text[at : at + 1] != letter:
        raise ValueError(f"Invalid isoformat string: {text!r}")


def date_of_text(text):
    """`date.fromisoformat` of a text such as 2024-01-31."""
    check_letter(text, 4, "-")
    check_letter(text, 7, "-")
    if len(text) != 10:
        raise ValueError(f"Invalid isoformat string: {text!r}")
    return date_of(number_in(text, 0, 4), number_in(text, 5, 7), number_in(text, 8, 10))


def datetime_of_text(text):
    """`datetime.fromisoformat` of a text such as 2024-01-31, 2024-01-31T12:30 or 2024-01-31 12:30:05.250."""
    when = date_of_text(text[:10])
    hour, minute, second, microsecond = 0, 0, 0, 0
    if len(text) > 10:
        hour = number_in(text, 11, 13)
        if len(text) > 13:
            check_letter(text, 13, ":")
            minute = number_in(text, 14, 16)
        if len(text) > 16:
            check_letter(text, 16, ":")
            second = number_in(text, 17, 19)
        if len(text) > 19:
            check_letter(text, 19, ".")
            digits = min(len(text), 26)
            if len(text) > 26 or len(text) not in (23, 26):
                raise ValueError(f"Invalid isoformat string, or one with a time zone: {text!r}")
            microsecond = number_in(text, 20, digits)
            if digits == 23:
                microsecond *= 1000
    return datetime_of(when.year, when.month, when.day, hour, minute, second, microsecond)


def formatted(time, microsecond, format):
    """A date and time as `strftime` writes it, in English."""
    text = ""
    is_code = False
    for letter in format:
        if is_code:
            text += part_of(time, microsecond, letter)
            is_code = False
        elif letter == "%":
            is_code = True
        else:
            text += letter
    return text


DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def part_of(time, microsecond, code):
    """What stands for a code of `strftime`."""
    of_two_digits = {
        "m": time.tm_mon,
        "d": time.tm_mday,
        "H": time.tm_hour,
        "M": time.tm_min,
        "S": time.tm_sec,
        "y": time.tm_year % 100,
        "I": (time.tm_hour + 11) % 12 + 1,
    }
    if code in of_two_digits:
        return f"{of_two_digits[code]:02d}"
    texts = {
        "Y": str(time.tm_year),
        "f": f"{microsecond:06d}",
        "j": f"{time.tm_yday:03d}",
        "p": "AM" if time.tm_hour < 12 else "PM",
        "w": str((time.tm_wday + 1) % 7),
        "u": str(time.tm_wday + 1),
        "A": DAYS[time.tm_wday],
        "a": DAYS[time.tm_wday][:3],
        "B": MONTHS[time.tm_mon - 1],
        "b": MONTHS[time.tm_mon - 1][:3],
        "F": f"{time.tm_year}-{time.tm_mon:02d}-{time.tm_mday:02d}",
        "T": f"{time.tm_hour:02d}:{time.tm_min:02d}:{time.tm_sec:02d}",
        "%": "%",
    }
    if code in texts:
        return texts[code]
    raise ValueError(f"`strftime` has no code {code!r} here")
