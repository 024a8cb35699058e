"""The help names all choices and options, and fits a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields

import pytest

from bench import registry, usage
from bench.config import Config
from bench.suggest import refusal


def test_every_choice_and_option_is_named_and_fits_a_terminal() -> None:
    text = usage.text()
    assert max(len(line) for line in text.splitlines()) <= 88
    for group in ("backend", "workload", "measure", "experiment"):
        for name in registry.names(group):
            assert name in text, f"{group}={name}"
    left_out = {"variants", "report"}  # these are for the files of experiments
    for field in fields(Config):
        assert field.name in left_out or f"\n  {field.name}" in text or f"+{field.name}" in text, field.name
    assert "autobatch=best|0|1|2|3" in text, "the default first, then the other choices"


@pytest.mark.parametrize("flag", usage.HELP)
def test_help_is_shown_without_measuring(flag: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "workload=nothing", flag], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == usage.text() + "\n"


def test_the_examples_are_not_refused() -> None:
    examples = [line.split()[3:] for line in usage.INTRODUCTION.splitlines() if line.startswith("  python -m bench ")]
    assert len(examples) == 3
    assert [refusal(each) for each in examples] == [None] * 3


def test_completion_of_the_shell_offers_options_and_values() -> None:
    line = "scripts/bench workload=treel"
    asked = {**os.environ, "COMP_LINE": line, "COMP_POINT": str(len(line))}
    command = [sys.executable, "-m", "bench", "--shell-completion", "query=bash"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=asked)
    assert done.stdout.split() == ["workload=treelstm"], done.stderr
