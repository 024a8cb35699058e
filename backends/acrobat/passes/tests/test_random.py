"""All passes of the pipeline together keep the meaning of random programs and of the workloads' models, with switches off
too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.acrobat.core.ops import OPS, Fusion
from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.nodes import Op, Program
from backends.acrobat.ir.tests.programs import Sample, samples
from backends.acrobat.ir.visitor import walk
from backends.acrobat.ir.work import is_view
from backends.acrobat.options import SWITCHES, Options
from backends.acrobat.passes.tests.models import WORKLOADS, workload
from backends.acrobat.passes.tests.test_meaning import assert_same
from backends.acrobat.pipeline import optimise


def assert_all_work_is_launched(program: Program) -> None:
    for function in program.functions.values():
        for node in walk(function.body):
            if isinstance(node, Op):
                assert is_view(node) or OPS[node.op].fusion is Fusion.ADDRESS, node


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(samples(waits=True), st.frozensets(st.sampled_from(SWITCHES), max_size=2))
def test_random_programs(sample: Sample, off: frozenset[str]) -> None:
    changes: dict[str, Any] = dict.fromkeys(off, False)
    program = optimise(sample.program, replace(Options(), **changes))
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
    for off in ((), *((switch,) for switch in SWITCHES)):
        changes: dict[str, Any] = dict.fromkeys(off, False)
        program = Interpreter(optimise(before, replace(Options(), **changes)))
        for instance, wanted in zip(instances, expected, strict=True):
            assert_same(program.run(instance), wanted)
