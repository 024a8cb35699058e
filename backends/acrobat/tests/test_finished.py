"""Finished programs from the disk equal those that the passes make, and are only used if all that they depend on is equal."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pytest
import torch
from torch import Tensor, nn

from backends.acrobat import finished
from backends.acrobat.core.cache_files import read
from backends.acrobat.frontend import build
from backends.acrobat.ir.nodes import Program
from backends.acrobat.ir.printer import print_program
from backends.acrobat.ir.verifier import verify
from backends.acrobat.options import Options
from backends.acrobat.pipeline import optimise


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.unused = nn.Linear(4, 4)

    def forward(self, xs: list[Annotated[Tensor, 4]]) -> Tensor:
        h = torch.zeros(4)
        for x in xs:
            h = torch.tanh(self.a(x) + self.b(h))
        return h


CORE = {"A0", "A1", "A2", "AM"}


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(1, 4)

    def forward(self, words: list[str]) -> Tensor:
        known = [word for word in words if word == "A2" or word == "A0" or word == "AM" or word == "A1"]
        return self.a.bias * sum(1 for word in words if word in CORE) + len(known)


class Passes:
    """Counts how often the passes run."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, program: Program, options: Options) -> Program:
        self.runs += 1
        return optimise(program, options)


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Passes:
    found = Passes()
    monkeypatch.setattr(finished, "optimise", found)
    return found


def test_the_second_time_no_pass_runs(passes: Passes, tmp_path: Path) -> None:
    model = Model()
    first, second = (finished.finished(build(model), Options(), tmp_path) for _ in range(2))
    assert passes.runs == 1
    verify(second)
    assert print_program(first) == print_program(second)
    assert first == second
    assert list(second.values) == list(first.values)
    torch.testing.assert_close(torch.tensor(second.values["a.weight"]), model.a.weight.detach())


def test_weights_are_those_of_the_module_at_hand(passes: Passes, tmp_path: Path) -> None:
    finished.finished(build(Model()), Options(), tmp_path)
    other = Model()
    program = finished.finished(build(other), Options(), tmp_path)
    assert passes.runs == 1
    torch.testing.assert_close(torch.tensor(program.values["b.bias"]), other.b.bias.detach())


def test_other_options_and_other_places_in_the_source_are_other_programs(passes: Passes, tmp_path: Path) -> None:
    program = build(Model())
    finished.finished(program, Options(), tmp_path)
    finished.finished(program, Options(horizontal=False), tmp_path)
    forward = program.functions["forward"]
    moved = replace(forward, span=replace(forward.span, line=forward.span.line + 1))
    finished.finished(replace(program, functions={**program.functions, "forward": moved}), Options(), tmp_path)
    assert passes.runs == 3


def test_a_damaged_file_is_made_anew(passes: Passes, tmp_path: Path) -> None:
    program = build(Model())
    wanted = finished.finished(program, Options(), tmp_path)
    (path,) = (tmp_path / "programs").iterdir()
    path.write_bytes(path.read_bytes()[:-3])
    assert finished.finished(program, Options(), tmp_path) == wanted
    assert passes.runs == 2 and read(path) is not None


SAME_KEY = """
import sys
from backends.acrobat.finished import key
from backends.acrobat.frontend import build
from backends.acrobat.options import Options
from backends.acrobat.tests.test_finished import Words
from backends.acrobat.tests.zoo.models import CASES
for case in CASES:
    if case.name in sys.argv[1:]:
        print(case.name, key(build(case.module(), sample=case.instances(12, seed=99)), Options()))
print("Words", key(build(Words()), Options()))
"""


def test_a_model_has_one_key_in_all_processes() -> None:
    """Python hashes strings otherwise in each process, so nothing may depend on the order of a set."""
    names = ("arc_parser", "levels_with_a_flag")
    keys = [
        subprocess.run(
            [sys.executable, "-c", SAME_KEY, *names],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert keys[0].count("\n") == len(names) + 1
    assert keys[0] == keys[1]
