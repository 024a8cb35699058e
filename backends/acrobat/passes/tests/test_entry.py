"""A recursive entry becomes an ordinary function, which a new entry calls."""

from __future__ import annotations

import pytest

from backends.acrobat.ir.printer import print_program
from backends.acrobat.ir.tests.reader import read_program
from backends.acrobat.passes import entry

BEFORE = """\
entry forward
weight w: f32[4]

def forward(n: int) -> f32[4]
  {first}: bool = host le(n, 0)
  if {first}
    tanh(@w)
  else
    less: int = host sub(n, 1)
    {call}

def other(n: int) -> f32[4]
  call forward(n)
"""


@pytest.mark.parametrize("call", ["call forward(less)", "call other(less)"])
def test_the_new_entry_only_calls_the_old_one(call: str) -> None:
    before = read_program(BEFORE.format(first="done", call=call))
    after = entry.run(before)
    assert after.entry == "entry" and not entry.is_called(after) and entry.is_called(before)
    text = print_program(after)
    assert "def entry(n: int) -> f32[4]\n  call forward(n)\n" in text
    assert {name: after.functions[name] for name in before.functions} == before.functions
    assert entry.run(after) is after


def test_its_name_is_new() -> None:
    before = read_program(BEFORE.format(first="done", call="call forward(less)").replace("other", "entry"))
    assert entry.run(before).entry == "entry_1"


def test_an_entry_that_nothing_calls_stays() -> None:
    text = BEFORE.format(first="done", call="tanh(@w)").partition("def other")[0]
    before = read_program(text)
    assert entry.run(before) is before
