"""Models as users write them: those that compile unchanged agree with eager PyTorch, the others are refused, never wrong.

`COMPILES` names the models that compile today. A model that is in the list and does not compile fails here, and so does one
that compiles and is not in the list: so the list is always the rate."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from backends.acrobat.errors import CompileError
from backends.acrobat.tests.zoo.case import Case
from backends.acrobat.tests.zoo.check import check
from backends.acrobat.tests.zoo.models import CASES

COMPILES: frozenset[str] = frozenset()


def test_the_zoo_has_at_least_forty_models() -> None:
    assert len(CASES) >= 40
    assert {case.name for case in CASES} >= COMPILES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_model(case: Case, cache: Path) -> None:
    if case.name in COMPILES:
        check(case, cache)
    else:
        with pytest.raises(CompileError):
            check(case, cache)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_eager_runs_it_and_instances_are_reproducible(case: Case) -> None:
    with torch.no_grad():
        first, second = ([str(case.module()(x)) for x in case.instances(3)] for _ in range(2))
    assert first == second
