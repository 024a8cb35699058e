"""Objects of classes derived from the one that an annotation names, which the sample has."""

# mypy: ignore-errors
from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from torch import nn

from backends.acrobat import compile
from backends.acrobat.errors import InstanceError
from backends.acrobat.tests.zoo.check import agrees, agrees_natively


@dataclass
class Event:
    time: float
    parts: list[Event] = field(default_factory=list)

    def value(self) -> float:
        return self.time


@dataclass
class Reading(Event):
    level: float = 0.0

    def value(self) -> float:
        return self.level * 10


class Alarm(Event):
    def value(self) -> float:
        return 7 + super().value()


class Watch(nn.Module):
    def total(self, event: Event) -> float:
        return event.value() + 100 * isinstance(event, Alarm) + sum(self.total(part) for part in event.parts)

    def forward(self, event: Event):
        return type(event).__name__, self.total(event), [type(part).__name__ for part in event.parts]


EVENTS = [Event(1.0, [Alarm(2.0), Reading(3.0, [Event(0.5)], 4.0)]), Alarm(5.0, [Alarm(1.0)]), Reading(1.0, [], 2.0)]


def test_each_class_is_its_own():
    agrees(Watch(), EVENTS)


def test_generated_code(tmp_path):
    agrees_natively(Watch(), EVENTS, "aot", tmp_path)


def test_a_derived_class_that_the_sample_lacks_is_refused():
    executable = compile(Watch(), sample=[Event(1.0, [Event(2.0)])])
    assert executable([Event(3.0)]) == [("Event", 3.0, [])]
    with pytest.raises(InstanceError, match=r"at \.parts\[0\]: expected a Event, got a value of type Alarm"):
        executable([Event(1.0, [Alarm(2.0)])])
