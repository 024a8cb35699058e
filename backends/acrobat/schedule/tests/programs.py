"""Small finished programs, and schedules changed by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from backends.acrobat.analyses.facts import ScheduleFacts
from backends.acrobat.ir.tests.reader import read_program
from backends.acrobat.ir.verifier import verify
from backends.acrobat.schedule import nodes as s
from backends.acrobat.schedule.lower import lower

KERNELS = """\
entry forward
weight w: f32[4]
kernel constant(w: shared f32[4])
  y: f32[4] = tanh(w)
  return y
kernel one(x: gathered f32[4])
  y: f32[4] = tanh(x)
  return y
kernel two(x: gathered f32[4], y: gathered f32[4])
  z: f32[4] = add(x, y)
  return z
kernel score(x: gathered f32[4])
  y: f32[1] = slice(x, dim=0, start=0, stop=1)
  z: f32[1] = tanh(y)
  return z

"""


def scheduled(text: str, facts: ScheduleFacts) -> s.Schedule:
    """The schedule, not verified, of the program `KERNELS + text` with these facts."""
    program = read_program(KERNELS + text)
    verify(program)
    return lower(program, facts)


Change = Callable[[s.Statement], Sequence[s.Statement]]


def changed(schedule: s.Schedule, change: Change) -> s.Schedule:
    """The schedule with every statement replaced by the statements that `change` returns for it, nested ones first."""

    def visit(x: Any) -> Any:
        match x:
            case s.Body(statements, end):
                return s.Body(tuple(new for old in statements for new in change(visit(old))), visit(end))
            case (
                s.IfBranch()
                | s.MatchBranch()
                | s.BranchArm()
                | s.ForkBranch()
                | s.Choose()
                | s.MapLoop()
                | s.FoldLoop()
                | s.WhileLoop()
                | s.Fork()
            ):
                return replace(x, **{name: visit(getattr(x, name)) for name in x.__slots__ if name not in ("var", "vars")})
            case tuple():
                return tuple(map(visit, x))
        return x

    functions = {name: replace(f, body=visit(f.body)) for name, f in schedule.functions.items()}
    return replace(schedule, functions=functions)
