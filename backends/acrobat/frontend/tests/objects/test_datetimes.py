"""`datetime.datetime` and `datetime.timedelta` in instances, in the model and in results: the same as in eager Python, or
refused."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from torch import nn

from backends.acrobat.compiler import compile
from backends.acrobat.errors import CompileError, InstanceError
from backends.acrobat.library import dates
from backends.acrobat.options import Options
from backends.acrobat.tests.zoo.check import agrees, agrees_natively, with_forward


@dataclass
class Event:
    at: datetime
    gap: timedelta
    amount: float


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = datetime(2001, 3, 4, 5)


def made_events(seed: int) -> list[list[Event]]:
    rng = random.Random(seed)

    def event() -> Event:
        at = datetime(rng.randint(1999, 2030), rng.randint(1, 12), rng.randint(1, 28), rng.randint(0, 23), rng.randint(0, 59))
        at += timedelta(seconds=rng.randint(0, 100), microseconds=rng.choice([0, 0, rng.randint(0, 10**6)]))
        return Event(at, timedelta(hours=rng.randint(-50, 50), microseconds=rng.choice([0, 7])), rng.random())

    return [[event() for _ in range(rng.randint(1, 5))] for _ in range(12)]


EVENTS = [
    *made_events(1),
    [Event(datetime(2024, 2, 29), timedelta(0), 1.0), Event(datetime(2024, 2, 29), timedelta(days=-1), 2.0)],
]


def parts(self, events):
    return [(e.at.year, e.at.day, e.at.hour + e.at.minute / 60, e.at.second, e.at.microsecond, e.at.weekday()) for e in events]


def gaps(self, events):
    found = sorted(events, key=lambda e: e.at)
    times = [(b.at - a.at).total_seconds() for a, b in pairwise(found)]
    return times, max(e.at for e in events), [(e.at - self.start).days for e in events]


def night(self, events):
    return [e.amount for e in events if e.at.hour < 6 or e.at.hour >= 22], [e.at.date() for e in events]


def by_day(self, events):
    sums: dict[str, float] = defaultdict(float)
    for e in events:
        sums[e.at.strftime("%Y-%m-%d")] += e.amount
    return dict(sums)


def moved(self, events):
    return (
        [e.at + e.gap for e in events],
        [e.at - timedelta(minutes=90) for e in events],
        events[0].at.replace(hour=0, minute=3),
    )


def spans(self, events):
    gap = events[0].gap
    total = sum((e.gap for e in events), timedelta())
    return gap, -gap, abs(gap), gap * 3, total, gap // timedelta(hours=1), gap / timedelta(hours=2), gap // 7, 1 if gap else 0


def compared(self, events):
    a, b = events[0], events[-1]
    return a.at == b.at, a.at < b.at, a.gap <= b.gap, a.gap > timedelta(hours=3), a.at - b.at == timedelta(0)


def texts(self, events):
    at = events[0].at
    codes = "%Y %m %d %H:%M:%S.%f %y %j %I %p %w %u %A %a %B %b %F %T %%"
    return at.isoformat(), str(at), f"at {at}", at.strftime(codes), str(events[0].gap), at.isocalendar()[1]


def as_keys(self, events):
    return {e.at: e.amount for e in events}, len({e.gap for e in events})


WORK = [parts, gaps, night, by_day, moved, spans, compared, texts, as_keys]


@pytest.mark.parametrize("forward", WORK)
def test_as_in_python(forward):
    agrees(with_forward(Model(), forward), EVENTS)


@pytest.mark.parametrize("forward", [gaps, moved, spans, texts])
def test_in_generated_code(forward, codegen, tmp_path):
    agrees_natively(with_forward(Model(), forward), EVENTS, codegen, tmp_path)


TEXTS = ["2024-01-31", "2024-01-31T12:30", "2023-12-31 23:59:59", "2000-02-29T00:00:01.250", "1999-01-01T05:06:07.000123"]


def of_text(self, text):
    at = datetime.fromisoformat(text)
    return at, at.hour, at - datetime(1999, 1, 1), datetime(at.year, at.month, 1, at.hour)


def test_times_of_texts(codegen, tmp_path):
    agrees(with_forward(Model(), of_text), TEXTS)
    agrees_natively(with_forward(Model(), of_text), TEXTS, codegen, tmp_path)


@pytest.mark.parametrize(
    "text", ["2024-13-01", "2024-1-1", "2024-02-30", "20240201", "2024-01-31T12:30Z", "2024-01-31T12:30+01:00"]
)
def test_texts_that_are_no_times(text, tmp_path):
    executable = compile(with_forward(Model(), of_text), sample=TEXTS, options=Options(codegen="vm"), cache_folder=tmp_path)
    with pytest.raises(InstanceError, match="ValueError"):
        executable([text])


def test_weeks():
    for day in random.Random(3).sample(range(400, 3650000), 3000):
        of_python = date.fromordinal(day)
        assert tuple(of_python.isocalendar()) == tuple(dates.iso_calendar_of(of_python.year, day))


def test_times_with_a_zone(codegen, tmp_path):
    options = Options(codegen=codegen)
    executable = compile(with_forward(Model(), parts), sample=EVENTS, options=options, cache_folder=tmp_path)
    with pytest.raises(InstanceError, match="with a time zone"):
        executable([[Event(datetime(2000, 1, 1, 5, tzinfo=UTC), timedelta(0), 1.0)]])
    with pytest.raises((CompileError, InstanceError)):
        agrees(with_forward(Model(), parts), [[Event(datetime(2000, 1, 1, 5, tzinfo=UTC), timedelta(0), 1.0)]])


def of_floats(self, events):
    return events[0].at + timedelta(hours=events[0].amount)


def since_the_epoch(self, events):
    return events[0].at.timestamp()


def multiplied_by_a_float(self, events):
    return events[0].gap * events[0].amount


@pytest.mark.parametrize("forward", [of_floats, since_the_epoch])
def test_what_is_refused(forward):
    with pytest.raises(CompileError):
        agrees(with_forward(Model(), forward), EVENTS)


def test_fractions_of_a_span(tmp_path):
    executable = compile(
        with_forward(Model(), multiplied_by_a_float), sample=EVENTS, options=Options(codegen="vm"), cache_folder=tmp_path
    )
    with pytest.raises(InstanceError, match="multiplied by ints"):
        executable(EVENTS[:1])
