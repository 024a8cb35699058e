"""`datetime.date` in instances, in the model and in results: the same as in eager Python, or refused."""

from __future__ import annotations

import datetime
import random
from dataclasses import dataclass
from datetime import date, timedelta

import pytest
from torch import nn

from backends.acrobat.compiler import compile
from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.library import dates
from backends.acrobat.options import Options
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


@dataclass
class Visit:
    day: date
    weight: float
    due: date | None = None
    name: str = "visit"


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.epoch = date(2001, 3, 4)


def made_visits(seed: int) -> list[list[Visit]]:
    rng = random.Random(seed)

    def day() -> date:
        return date.fromordinal(rng.randint(700000, 760000))

    return [
        [Visit(day(), rng.random(), day() if rng.random() < 0.5 else None) for _ in range(rng.randint(1, 5))] for _ in range(12)
    ]


VISITS = [*made_visits(1), [Visit(date(2000, 2, 29), 1.0), Visit(date(2000, 2, 29), 2.0), Visit(date(1, 1, 9), 3.0)]]


def in_order(self, visits):
    found = sorted(visits, key=lambda v: (v.day, v.weight))
    return [v.weight for v in found], min([v.day for v in visits]), max(visits, key=lambda v: v.day).weight


def gaps(self, visits):
    previous, found = None, []
    for v in sorted(visits, key=lambda v: v.day):
        found.append(0 if previous is None else (v.day - previous).days)
        previous = v.day
    return found, previous


def parts(self, visits):
    return [(v.day.year, v.day.month, v.day.day, v.day.toordinal(), v.day.weekday(), v.day.isoweekday()) for v in visits]


def texts(self, visits):
    return [v.day.isoformat() for v in visits], str(visits[0].day), f"on {visits[-1].day}", str(visits[0].day - visits[-1].day)


def as_keys(self, visits):
    counts: dict[date, int] = {}
    for v in visits:
        counts[v.day] = counts.get(v.day, 0) + 1
    return counts, visits[0].day in {v.day for v in visits[1:]}, len({v.day for v in visits})


def compared(self, visits):
    a, b = visits[0], visits[-1]
    return a.day == b.day, a.day != b.day, a.day < b.day, a.day >= b.day, a.due == b.day, a.day == a.due, a.due is None


def constants(self, visits):
    past = [v.weight for v in visits if v.day < self.epoch]
    return past, [(v.day - self.epoch).days for v in visits], [self.epoch == v.day for v in visits], self.epoch.toordinal()


def computed(self, visits):
    later = [v.day + timedelta(days=int(v.weight * 1000)) for v in visits]
    week = timedelta(7)
    return (
        later,
        [v.day - week for v in visits],
        [week + v.day for v in visits],
        date.fromordinal(visits[0].day.toordinal() + 1),
    )


def made(self, visits):
    day = visits[0].day
    return date(day.year, day.month, 1), day.replace(day=3), Visit(visits[-1].day, 2.0), Visit(date(1999, 12, day.day), 0.5)


def differences(self, visits):
    gap = visits[-1].day - visits[0].day
    return gap, -gap, gap.total_seconds(), gap + gap, gap < -gap, 1 if gap else 0, gap == timedelta(days=3)


def kinds(self, visits):
    due = visits[0].due
    return (
        isinstance(visits[0].day, date),
        type(visits[0].day) is date,
        isinstance(due, date),
        None if due is None else due.year,
    )


def of_seconds(self, visits):
    return visits[0].day + timedelta(seconds=90000), visits[0].day - timedelta(hours=int(visits[0].weight * 100))


def of_texts(self, visits):
    day = date.fromisoformat(visits[0].day.isoformat())
    return day, day.strftime("%Y/%m/%d %a %B %j"), day.isocalendar()[1], tuple(day.isocalendar())


def of_time(self, visits):
    return [tuple(v.day.timetuple()[:3]) for v in visits], visits[0].day.timetuple().tm_yday


WORK = [
    in_order,
    gaps,
    parts,
    texts,
    as_keys,
    compared,
    constants,
    computed,
    made,
    differences,
    kinds,
    of_seconds,
    of_texts,
    of_time,
]


@pytest.mark.parametrize("forward", WORK)
def test_as_in_python(forward):
    agrees(with_forward(Model(), forward), VISITS)


@pytest.mark.parametrize("forward", [gaps, as_keys, made, differences])
def test_in_generated_code(forward, codegen, tmp_path):
    agrees_natively(with_forward(Model(), forward), VISITS, codegen, tmp_path)


def of_several_kinds(self, values):
    found = []
    for x in values:
        if x is None:
            found.append("none")
        elif isinstance(x, date):
            found.append(str(x.weekday()))
        elif isinstance(x, Visit):
            found.append(x.day.isoformat())
        else:
            found.append(str(x))
    return found


def test_beside_values_of_other_types():
    values = [None, 3, "a", date(2000, 1, 1), Visit(date(1999, 1, 1), 1.0)]
    agrees(with_forward(Model(), of_several_kinds), [values, values[::-1], values[3:]])


def test_the_calendar():
    """The functions of the library, with their own dataclass, for days from the whole range."""
    for ordinal in [1, 59, 60, 365, 366, 3652059, *random.Random(2).sample(range(1, 3652060), 5000)]:
        day = date.fromordinal(ordinal)
        assert dates.days_before_year(day.year) + dates.days_before_month(day.year, day.month) + day.day == ordinal
    for year in (1900, 2000, 2023, 2024):
        lengths = [(date(year + m // 12, m % 12 + 1, 1) - date(year, m, 1)).days for m in range(1, 13)]
        assert [dates.days_in_month(year, m) for m in range(1, 13)] == lengths


def test_each_day_of_some_years():
    def forward(self, ordinal):
        day = date.fromordinal(ordinal)
        return day, day.toordinal(), (day + timedelta(days=1)).weekday()

    ordinals = [date(y, 1, 1).toordinal() + k for y in (1, 4, 1900, 2000, 2023, 2024) for k in range(0, 366, 5)]
    agrees(with_forward(Model(), forward), [*ordinals, 1, 3652058, *random.Random(3).sample(range(1, 3652059), 40)])


def day_out_of_range(self, visits):
    return date(2001, 2, 29 if visits else 1)


def wrong_month(self, visits):
    return visits[0].day.replace(month=13)


@pytest.mark.parametrize("forward", [day_out_of_range, wrong_month])
def test_dates_that_are_none(forward, tmp_path):
    executable = compile(with_forward(Model(), forward), sample=VISITS, options=Options(codegen="vm"), cache_folder=tmp_path)
    with pytest.raises(InstanceError, match="ValueError"):
        executable(VISITS[:1])


def with_a_format(self, visits):
    return f"{visits[0].day:%d}"


def as_written(self, visits):
    return repr(visits[0].day)


def of_floats(self, visits):
    return visits[0].day + timedelta(days=visits[0].weight)


def time_given_back(self, visits):
    return visits[0].day.timetuple()


@pytest.mark.parametrize("forward", [with_a_format, as_written, of_floats, time_given_back])
def test_what_is_refused(forward):
    with pytest.raises(CompileError):
        agrees(with_forward(Model(), forward), VISITS)


def test_times_are_no_dates(codegen, tmp_path):
    """An object of `datetime`, which is derived from `date`, is not taken for a date."""
    options = Options(codegen=codegen)
    executable = compile(with_forward(Model(), in_order), sample=VISITS, options=options, cache_folder=tmp_path)
    with pytest.raises(InstanceError, match=r"expected a Date, got a value of type datetime\.datetime"):
        executable([[Visit(datetime.datetime(2000, 1, 1, 5), 1.0)]])
