"""An analysis of one program runs once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from backends.acrobat.analyses import callgraph, phases
from backends.acrobat.analyses.once import once
from backends.acrobat.analyses.tests.models import treelstm
from backends.acrobat.ir.nodes import Program
from backends.acrobat.options import Options
from backends.acrobat.passes.tests.models import workload
from backends.acrobat.pipeline import optimise, schedule_of


def test_a_program_is_looked_at_once_and_a_changed_one_anew() -> None:
    seen: list[int] = []

    @once
    def functions(program: Program, minimum: int) -> list[str]:
        seen.append(minimum)
        return sorted(program.functions)

    program = treelstm()
    assert functions(program, 1) is functions(program, 2) and seen == [1]
    changed = replace(program, functions={})
    assert functions(changed, 3) == [] and seen == [1, 3]
    assert program == treelstm(), "what is known of a program is no part of it"


@pytest.mark.parametrize("analysis", [(callgraph, "CallGraph"), (phases, "Kinds")])
def test_the_pipeline_looks_at_each_program_once(monkeypatch: pytest.MonkeyPatch, analysis: tuple[Any, str]) -> None:
    module, name = analysis
    looked: list[Program] = []
    original = getattr(module, name)

    class Counted(original):  # type: ignore[misc, valid-type]
        def __init__(self, program: Program, *rest: Any) -> None:
            looked.append(program)
            super().__init__(program, *rest)

    monkeypatch.setattr(module, name, Counted)
    program = workload("birnn")[0]
    program = replace(program, functions=dict(program.functions))  # a copy, with which no results are kept
    schedule_of(optimise(program, Options()), Options())
    assert looked and max(Counter(map(id, looked)).values()) == 1
