"""The mini-batches to run, with the options of the backend to run them with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workloads.tests import cases as shared

# The workloads that multiply words with weights.
TABLES = ("treelstm", "simtree", "birnn", "stackrnn", "treegru", "treernn", "dagrnn", "lattice", "seq2seq", "beam", "crf")


@dataclass(frozen=True)
class Case(shared.Case):
    tables: bool = False
    formulation: Literal["best", "naive"] = "best"
    answers: str = ""
    """The name of the shared case whose answers are right for this one, too."""


def cases() -> dict[str, Case]:
    all_cases = {name: Case(c.workload, c.instances, c.options, answers=name) for name, c in shared.cases().items()}
    for name in [n for n, case in all_cases.items() if case.workload in TABLES]:
        case = all_cases[name]
        all_cases[f"{name}, tables"] = Case(case.workload, case.instances, case.options, tables=True, answers=name)
    for name, case in [(name, case) for name, case in all_cases.items() if case.instances and not case.tables]:
        all_cases[f"{name}, naive"] = Case(case.workload, case.instances, case.options, formulation="naive", answers=name)
    return all_cases
