"""The passes below, one after the other, keep the meaning of random programs and of the workloads' models, with switches off
too. (Tables, invariants and segments are not among them: the tests of compiled random programs run all passes.)"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.nodes import Op, Program
from backends.acrobat.ir.tests.programs import Sample, samples
from backends.acrobat.ir.verifier import verify
from backends.acrobat.ir.visitor import walk
from backends.acrobat.ir.work import is_view
from backends.acrobat.passes import coarsen, constants, folds, horizontal, inline, simplify, specialise, vertical
from backends.acrobat.passes.tests.models import WORKLOADS, workload
from backends.acrobat.passes.tests.test_meaning import assert_same

SWITCHES = ("hoist", "folds", "horizontal", "constants", "vertical", "coarsen")


def passed(program: Program, off: frozenset[str]) -> Program:
    """The program after these passes without those that are switched off, verified after each."""
    hoist = "hoist" not in off
    steps = [
        (True, inline.run),
        (True, simplify.run),
        (True, specialise.run),
        ("folds" not in off, folds.run),
        (True, simplify.run),
        ("horizontal" not in off, lambda p: horizontal.run(p, hoist=hoist)),
        ("constants" not in off, constants.run),
        (True, lambda p: vertical.run(p, fuse="vertical" not in off, hoist=hoist)),
        ("coarsen" not in off, lambda p: coarsen.run(p, hoist=hoist)),
    ]
    for on, run in steps:
        if on:
            program = run(program)
            verify(program)
    return program


def assert_all_work_is_launched(program: Program) -> None:
    for function in program.functions.values():
        for node in walk(function.body):
            if isinstance(node, Op):
                assert is_view(node) or OPS[node.op].fusion is Fusion.ADDRESS, node


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(samples(waits=True), st.frozensets(st.sampled_from(SWITCHES), max_size=2))
def test_random_programs(sample: Sample, off: frozenset[str]) -> None:
    program = passed(sample.program, off)
    assert_all_work_is_launched(program)
    before, after = Interpreter(sample.program), Interpreter(program)
    for instance in sample.instances:
        assert_same(after.run(instance), before.run(instance))


@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads(name: str) -> None:
    before, instances = workload(name)
    instances = instances[:2]
    assert len(instances) == 2
    expected = [Interpreter(before).run(instance) for instance in instances]
    for off in ("", *SWITCHES):
        program = Interpreter(passed(before, frozenset({off})))
        for instance, wanted in zip(instances, expected, strict=True):
            assert_same(program.run(instance), wanted)
