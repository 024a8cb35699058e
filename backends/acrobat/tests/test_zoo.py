"""Models as users write them: those that compile unchanged agree with eager PyTorch, the others are refused, never wrong.

`REFUSED` names the models that do not compile, with the reasons. The test fails for a model that is in the list and compiles,
and for one that is not in it and does not compile, so the list is always current. Here all programs are run in the interpreter
and a few natively; `python -m backends.acrobat.tests.zoo` runs all of them natively."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from backends.acrobat.errors import CompileError
from backends.acrobat.tests.zoo.case import Case
from backends.acrobat.tests.zoo.check import check, check_program
from backends.acrobat.tests.zoo.models import CASES

REFUSED: dict[str, str] = {}
NATIVE = ("tree_gru", "bilstm_tagger", "character_word_tagger")


def test_the_zoo_has_at_least_forty_models() -> None:
    names = {case.name for case in CASES}
    assert len(names) >= 40
    assert names >= REFUSED.keys()
    assert names >= set(NATIVE) - REFUSED.keys()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_program(case: Case) -> None:
    if case.name in REFUSED:
        with pytest.raises(CompileError):
            check_program(case)
    else:
        check_program(case)


@pytest.mark.parametrize("case", [case for case in CASES if case.name in NATIVE], ids=lambda case: case.name)
def test_natively(case: Case, cache: Path) -> None:
    check(case, cache)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_eager_runs_it_and_instances_are_reproducible(case: Case) -> None:
    with torch.no_grad():
        first, second = ([str(case.module()(x)) for x in case.instances(2)] for _ in range(2))
    assert first == second
