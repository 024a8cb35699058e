"""Random programs through the whole compiler, compared with the interpreter; `scripts/random-programs` tries more of them.

A failure names the seeds and shows the programs. `scripts/random-programs --seed SEED --count 1` reproduces and shrinks it. If
the test process itself ended, the command with the seed and count of the chunk says which program ended it.
"""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from backends.acrobat.ir.nodes import Host, Match, Op
from backends.acrobat.ir.tests.programs import Sample
from backends.acrobat.ir.visitor import walk
from backends.acrobat.passes.dead import remove_dead
from backends.acrobat.passes.entry import is_called
from backends.acrobat.pipeline import optimise
from backends.acrobat.runtime.cuda.tests.emulated import emulated
from backends.acrobat.tests import fuzz
from backends.acrobat.tests.python_source import python_source
from backends.acrobat.tests.random_cases import AXES, Case, case_of
from backends.acrobat.tests.random_checks import FAST, Finding, Wrong, check_cases, same
from backends.acrobat.tests.random_features import features
from backends.acrobat.tests.random_idioms import IDIOMS
from backends.acrobat.tests.random_models import Written
from backends.acrobat.tests.smaller_models import smaller as smaller_model
from backends.acrobat.tests.smaller_programs import smaller

PROGRAMS = 300
CHUNK = 20
AS_SHIPPED = 5
"""One of so many chunks is compiled with the optimisations of real builds."""


@pytest.mark.parametrize("chunk", range(PROGRAMS // CHUNK))
def test_compiled_programs_give_what_the_interpreter_gives(chunk: int, tmp_path: Path) -> None:
    first = chunk * CHUNK
    flags = () if chunk % AS_SHIPPED == 0 else FAST
    findings = check_cases([case_of(seed) for seed in range(first, first + CHUNK)], tmp_path / "build", flags)
    assert not findings, "\n\n".join(map(str, findings))


def test_programs_for_the_emulated_device(tmp_path: Path) -> None:
    """One drawn program and one drawn text; `scripts/random-programs --device cuda` tries more."""
    with emulated():
        cases = [fuzz.drawn(seed, {"kernels": "generated", "isa": "native"}, 0, "cuda") for seed in (300, 301)]
        findings = check_cases(cases, tmp_path / "build")
    assert not findings, "\n\n".join(map(str, findings))


def test_every_feature_is_drawn_often() -> None:
    """Features are counted in the finished programs of the 150 cases that were drawn as programs, not as text."""
    seen: Counter[str] = Counter()
    for seed in range(0, 300, 2):
        case = case_of(seed)
        seen.update(features(optimise(case.sample.program, case.options)))
        seen["plain kernels"] += case.plain
        seen["native kernels"] += not case.plain
        seen["two executors"] += bool(case.also)
        seen.update(name for name, values in AXES.items() if getattr(case.options, name) != values[0])
        seen["read by the front end"] += case.written
        seen["a forward that calls itself"] += is_called(case.sample.program)
        seen["several instances"] += len(case.sample.instances) > 1
    often = (
        {"recursion": 40, "recursion over unions": 15, "recursion into another": 2, "recursion that waits": 12}
        | {"match": 30, "branches on tensors": 20, "work in branches on tensors": 8, "independent calls": 15}
        | {"work in comprehensions": 25, "work in for loops": 8, "work in while loops": 10, "sums over lists": 40}
        | {"shared weights": 40, "products with shared weights": 25, "products without shared weights": 5}
        | {"gathered weights": 1, "clones for weights": 1, "static blocks": 30, "fused kernels": 60}
        | {"read by the front end": 20, "a forward that calls itself": 15, "several instances": 60}
        | {"vectors read": 8, "highest items": 1}
        | {"plain kernels": 80, "native kernels": 10, "two executors": 60}
        | dict.fromkeys(AXES, 1)
    )
    assert not {name: seen[name] for name, least in often.items() if seen[name] < least}


def test_every_form_is_written_often() -> None:
    """Forms are counted in 200 drawn programs, about half of which are printed as Python."""
    seen: Counter[str] = Counter()
    for case in map(case_of, range(0, 400, 2)):
        program = case.sample.program
        seen["edges of float32"] += any("edge" in name for name in program.weights)
        nodes = [node for f in program.functions.values() for node in walk(f.body)]
        seen["rounded to float32"] += any(isinstance(node, Host) and node.op == "float32" for node in nodes)
        if case.written:
            text = python_source(program, Random(case.seed).randrange)
            seen["operations in place"] += re.search(r"\.(tanh|sigmoid|neg|exp|sqrt|log|add|sub|mul|div)_\(", text) is not None
            seen["relu in place"] += re.search(r"\.relu_\(|[a-z0-9_], inplace=True|act_relu_in_place\(", text) is not None
            seen["constants in a buffer"] += "self.ints[" in text
    often = {"edges of float32": 15, "rounded to float32": 1, "operations in place": 20, "relu in place": 3}
    often |= {"constants in a buffer": 25}
    assert not {name: seen[name] for name, least in often.items() if seen[name] < least}, seen


# ---- what finds and shrinks


def test_every_idiom_is_drawn_often() -> None:
    """Idioms are counted in the 600 models with the first odd seeds."""
    seen: Counter[str] = Counter()
    for case in map(case_of, range(1, 1200, 2)):
        assert case.model is not None
        seen.update(set(case.model.idioms))
    nested = ("branch", "loop", "method", "a method that calls itself", "a module in a module", "a forward that calls itself")
    begins = [f"starts with {field}" for field in ("x", "ids", "rows")]
    forms = [f"instances: {form}" for form in ("class", "dataclass", "dictionary")]
    rare = {name: seen[name] for name in (*IDIOMS, *nested, *begins, *forms) if seen[name] < 25}
    assert not rare
    assert seen.keys() == {*IDIOMS, *nested, *begins, *forms}


def test_models_become_small() -> None:
    """A text that must keep a method which recurs over a tree loses most of the rest."""

    def fails(model: Written) -> bool:
        return "for child in node.below" in model.text and "return" in model.text

    drawn = [m for m in (case_of(seed).model for seed in range(1, 300, 2)) if m is not None and fails(m)]
    small = smaller_model(drawn[0], fails, 300)
    assert fails(small) and len(small.text) < len(drawn[0].text) / 2
    assert "nn.Linear" not in small.text


def test_what_differs_is_seen() -> None:
    tensor = np.zeros(2)
    for want, got in [
        (tensor, tensor + 0.01),
        (tensor, np.zeros(3)),
        (tensor, np.array([np.nan, 0])),
        (True, 1),
        (2, 3),
        (0.5, 0.6),
        ([1], [1, 2]),
        ((1,), [1]),
        ((tensor, 1), (tensor, 2)),
    ]:
        with pytest.raises(Wrong):
            same(got, want)
        same(want, want)


def test_findings_tell_the_seed_the_options_and_the_program() -> None:
    case = case_of(4)
    text = str(Finding(case, "run", "instance 0: right is 1, not 2"))
    assert text.startswith("seed 4: run: instance 0: right is 1, not 2\noptions: Options(")
    assert "\ndef forward(" in text
    one, other = (Finding(case, "run", f"instance {n}: right is {n}, not 2") for n in (0, 31))
    assert one.kind == other.kind != Finding(case, "passes", one.message).kind


def test_programs_become_small() -> None:
    """Shrinks programs in which one function must keep a match and a product that are used."""

    def fails(sample: Sample) -> bool:
        sample = replace(sample, program=remove_dead(sample.program))
        kinds = [
            {node.op if isinstance(node, Op) else type(node) for node in walk(f.body)}
            for f in sample.program.functions.values()
        ]
        return any({Match, "linear"} <= k for k in kinds)

    drawn = [s for s in (case_of(seed).sample for seed in range(0, 160, 2)) if fails(s)]
    assert len(drawn) > 3
    for sample in drawn[:4]:
        small = smaller(sample, fails, 300)
        assert fails(small) and len(small.instances) == 1
        assert sum(1 for f in small.program.functions.values() for node in walk(f.body) if isinstance(node, Op)) <= 10


def test_a_program_that_ends_the_process_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def checked(cases: Sequence[Case], folder: Path, flags: Sequence[str]) -> list[Finding]:
        if any(case.seed == 3 for case in cases):
            os.kill(os.getpid(), signal.SIGKILL)
        return [Finding(case, "run", "wrong") for case in cases if case.seed == 25]

    monkeypatch.setattr(fuzz, "check_cases", checked)
    found = [f for _, findings in fuzz.search(map(case_of, range(40)), 2, FAST) for f in findings]
    assert sorted((f.case.seed, f.stage, f.message) for f in found) == [
        (3, "process", "died of SIGKILL"),
        (25, "run", "wrong"),
    ]


def test_a_program_without_end_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(cases: Sequence[Case], folder: Path, flags: Sequence[str]) -> list[Finding]:
        while True:
            signal.pause()

    monkeypatch.setattr(fuzz, "check_cases", endless)
    monkeypatch.setattr(fuzz, "DEADLINE_S", 1)
    ((_, (found,)),) = fuzz.search(iter([case_of(0)]), 1, FAST)
    assert (found.stage, found.message) == ("process", "no end within 1 s")


def test_the_command_writes_findings_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def checked(cases: Sequence[Case], folder: Path, flags: Sequence[str]) -> list[Finding]:
        return [Finding(case, "run", "wrong") for case in cases if case.seed == 7]

    monkeypatch.setattr(fuzz, "check_cases", checked)
    arguments: list[Any] = ["--folder", str(tmp_path), "--shrink", "5", "--option", "hoist=false"]
    assert fuzz.main(["--seed", "0", "--count", "5", *arguments]) == 0
    assert fuzz.main(["--seed", "5", "--count", "5", *arguments]) == 1
    assert "5 programs: 4 right, 0 refused, 1 wrong\nwrong: 7\n" in capsys.readouterr().out
    text = (tmp_path / "seed-7.txt").read_text()
    assert text.startswith("scripts/random-programs --seed 7 --count 1 --option hoist=False\n")
    assert "==== shrunk" in text and "hoist=False" in text
    with pytest.raises(SystemExit):
        fuzz.main(["--option", "nothing=1"])


def test_a_campaign_goes_on_where_it_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = "Traceback\nbackends.acrobat.errors.CompileError: model.py:1: no"
    checked: list[tuple[int, str]] = []

    def search(cases: Any, jobs: int, flags: Sequence[str]) -> Any:
        batch = list(cases)
        checked.extend((case.seed, case.options.codegen) for case in batch)
        stages = {3: ("run", "instance 0: right is 1, not 2"), 5: ("front end", refused)}
        yield batch, [Finding(case, *stages[case.seed]) for case in batch if case.seed in stages]

    monkeypatch.setattr(fuzz, "search", search)
    monkeypatch.setattr(fuzz, "runtime_build", lambda *_: None)
    arguments = ["--folder", str(tmp_path), "--shrink", "0", "--resume", "--aot", "25", "--seed", "0"]
    assert fuzz.main([*arguments, "--count", "4"]) == 1
    assert fuzz.main([*arguments, "--count", "8"]) == 1
    assert [seed for seed, _ in checked] == list(range(8))  # each seed is checked once
    assert {codegen for _, codegen in checked} == {"aot"}
    out = capsys.readouterr().out
    assert "8 programs: 6 right, 1 refused, 1 wrong" in out and "refused: 5" in out and "wrong: 3" in out
    with pytest.raises(SystemExit):
        fuzz.main([*arguments, "--count", "8", "--option", "hoist=false"])
    assert "was begun with" in capsys.readouterr().err
