"""The depth rule, checked by running the workloads' models and random programs: work stands after all work that it uses.

Depths are counted as the generated code counts them: static work stands at its static depth, all other work at the largest
depth from which its operands can be used, but not before the base; a result can be used from the next depth on.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from backends.acrobat.analyses.callgraph import CallGraph
from backends.acrobat.analyses.depth import static_depths
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.nodes import Expr, Let, Op, Program
from backends.acrobat.ir.tests.programs import Sample
from backends.acrobat.ir.visitor import map_children, walk
from backends.acrobat.ir.work import is_work
from backends.acrobat.passes import inline
from backends.acrobat.passes.tests.models import WORKLOADS, workload
from backends.acrobat.passes.tests.random_programs import live_samples


class Tracked(np.ndarray[Any, Any]):
    """A tensor with the first depth at which it can be used."""

    depth: int


def apart(expr: Expr) -> Expr:
    """An equal expression of which no part is another part, nor part of another expression."""
    return copy(map_children(expr, apart))


class Counting(Interpreter):
    """An interpreter that counts depths, fails where static work uses a tensor too early, and keeps the depths of all work."""

    def __init__(self, program: Program) -> None:
        # Inlining gives several functions, or one several times, the same object for the same work: here each has its own.
        program = replace(program, functions={n: replace(f, body=apart(f.body)) for n, f in program.functions.items()})
        super().__init__(program)
        self.static = static_depths(program, CallGraph(program))
        self.launched: list[int] = []
        self.names = {
            id(node.value): (name, node.var.name)
            for name, function in program.functions.items()
            for node in walk(function.body)
            if isinstance(node, Let)
        }

    def _op(self, op: Op, env: dict[str, Any]) -> np.ndarray:
        operands = [x for a in self._atoms(op.args, env) for x in (a if isinstance(a, list) else [a])]
        depth = max((getattr(x, "depth", 0) for x in operands), default=0)
        result = np.asarray(super()._op(op, env)).view(Tracked)
        if is_work(op):
            name = self.names.get(id(op))  # None: work that is bound to no variable
            static = self.static.depths.get(name) if name else None
            assert static is None or depth <= static < self.static.base, f"{name} at {static} uses {depth}"
            depth = max(depth, self.static.base) if static is None else static
            self.launched.append(depth)
            depth += 1
        result.depth = depth
        return result


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("inlined", [False, True])
def test_workloads(name: str, inlined: bool) -> None:
    program, instances = workload(name)
    if inlined:
        program = inline.run(program)
    counting = Counting(program)
    for instance in instances:
        counting.run(instance)
    assert max(counting.launched) >= counting.static.base
    if inlined and name in ("treelstm", "nestedrnn"):
        assert 0 in counting.launched and counting.static.depths


def test_work_that_two_functions_have_is_told_apart() -> None:
    program, _ = workload("treelstm")
    twice = replace(program, functions={**program.functions, "again": replace(program.functions[program.entry], name="again")})
    names = Counting(twice).names.values()
    assert {of for of, _ in names} >= {program.entry, "again"}


@settings(max_examples=60, deadline=None)
@given(live_samples(waits=True))
def test_random_programs(sample: Sample) -> None:
    for program in (sample.program, inline.run(sample.program)):
        counting = Counting(program)
        for instance in sample.instances:
            counting.run(instance)
