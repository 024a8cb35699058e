"""Passes do not change what programs compute: the workloads' models and random programs, interpreted before and after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.acrobat.ir.interpreter import Interpreter
from backends.acrobat.ir.nodes import Program
from backends.acrobat.ir.verifier import verify
from backends.acrobat.passes import constants, inline, specialise
from backends.acrobat.passes.tests.models import WORKLOADS, workload
from backends.acrobat.passes.tests.random_programs import live_samples

ALL = [inline.run, specialise.run, constants.run]


def assert_same(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, list | tuple):
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif is_dataclass(a):
        for field in fields(a):
            assert_same(getattr(a, field.name), getattr(b, field.name))
    elif isinstance(a, np.ndarray):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    else:
        assert a == b


SEQUENCES = [
    pytest.param([inline.run], id="inline"),
    pytest.param([specialise.run], id="specialise"),
    pytest.param([partial(specialise.run, clone=False)], id="specialise off"),
    pytest.param([constants.run], id="constants"),
    pytest.param(ALL, id="in order"),
    pytest.param(ALL[::-1], id="in reverse"),
]


def check(program: Program, passes: Sequence[Callable[[Program], Program]], instances: Sequence[Any]) -> None:
    before = Interpreter(program)
    for run in passes:
        program = run(program)
        verify(program)
    after = Interpreter(program)
    for instance in instances:
        assert_same(after.run(instance), before.run(instance))


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("passes", SEQUENCES)
def test_workloads(name: str, passes: list[Callable[[Program], Program]]) -> None:
    check(workload(name)[0], passes, workload(name)[1])


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("passes", SEQUENCES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_random_programs(passes: list[Callable[[Program], Program]], waits: bool, data: st.DataObject) -> None:
    sample = data.draw(live_samples(waits))
    check(sample.program, passes, sample.instances)
