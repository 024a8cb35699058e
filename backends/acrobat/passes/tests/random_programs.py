"""Random programs whose entry returns the values of all its bindings, so that little of them is dead code."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from backends.acrobat.core.types import TupleT
from backends.acrobat.ir.nodes import Program, Tuple, Var
from backends.acrobat.ir.tests.programs import Sample, samples
from backends.acrobat.ir.visitor import from_lets, lets
from backends.acrobat.passes.entry import is_called


def live_samples(waits: bool = False) -> st.SearchStrategy[Sample]:
    return samples(waits).map(lambda s: replace(s, program=all_used(s.program)))


def all_used(program: Program) -> Program:
    """The program with an entry that returns the tuple of all its variables; one that calls its entry stays as it is."""
    if is_called(program):
        return program
    entry = program.functions[program.entry]
    bindings, tail = lets(entry.body)
    bindings.append((Var("tail", tail.type), tail))
    variables = tuple(var for var, _ in bindings)
    result = TupleT(tuple(var.type for var in variables))
    entry = replace(entry, result=result, body=from_lets(bindings, Tuple(variables, result)))
    return replace(program, functions={**program.functions, entry.name: entry})
