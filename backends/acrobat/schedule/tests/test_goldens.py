"""Golden tests of schedules as text. After an intended change, `python -m backends.acrobat.schedule.tests.test_goldens` writes
the files anew; review their diff."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from backends.acrobat.ir.tests.reader import read_program
from backends.acrobat.ir.verifier import verify
from backends.acrobat.options import Options
from backends.acrobat.passes.tests.models import workload
from backends.acrobat.pipeline import optimise, schedule_of
from backends.acrobat.schedule import nodes as s
from backends.acrobat.schedule.printer import print_schedule

FOLDER = Path(__file__).parent / "goldens"
NAMES = ("treelstm", "birnn", "drnn", "stackrnn", "search")
SEARCH = """\
entry forward
weight w: f32[4, 4]
weight v: f32[1, 4]

def forward(instance: (list[f32[4]], int, f32[4])) -> (f32[4], list[float])
  xs: list[f32[4]] = instance[0]
  most: int = instance[1]
  start: f32[4] = instance[2]
  scores: list[float] = map x: f32[4] in xs
    h: f32[4] = linear(x, @w)
    s: f32[1] = linear(h, @v)
    item s as float
  found: (int, f32[4]) = loop with n: int = 0, state: f32[4] = start
  while
    host lt(n, most)
  do
    more: int = host add(n, 1)
    even: bool = host eq(most, more)
    if even
      a: f32[4] = linear(state, @w)
      b: f32[4] = tanh(a)
      c: f32[4] = linear(b, @w)
      (more, c)
    else
      d: f32[4] = linear(state, @w)
      (more, d)
  last: f32[4] = found[1]
  result: (f32[4], list[float]) = (last, scores)
  result
"""
"""A program with a map whose elements wait, and a `while` loop whose rounds end in a branch."""


def schedule(name: str) -> s.Schedule:
    options = Options()
    program = read_program(SEARCH) if name == "search" else workload(name)[0]
    verify(program)
    return schedule_of(optimise(program, options), options)


@pytest.mark.parametrize("name", NAMES)
def test_text(name: str) -> None:
    assert print_schedule(schedule(name)) == (FOLDER / f"{name}.txt").read_text()


def test_every_record_stands_in_one_of_them() -> None:
    def inside(x: Any) -> Iterator[Any]:
        yield x
        for field in getattr(x, "__slots__", ()):
            yield from inside(getattr(x, field))
        for item in x if isinstance(x, tuple) else ():
            yield from inside(item)

    met = {type(x) for name in NAMES for f in schedule(name).functions.values() for x in inside(f.body)}
    records = (s.Statement, s.Depth, s.Next, s.NextOf, s.Give, s.IfBranch, s.MatchBranch)
    assert {each for record in records for each in get_args(record) or (record,)} <= met


if __name__ == "__main__":
    for each in NAMES:
        (FOLDER / f"{each}.txt").write_text(print_schedule(schedule(each)))
