"""The table of speed-ups: results are checked before they are timed, and every model has a row."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from backends.acrobat.tests.zoo import __main__ as command
from backends.acrobat.tests.zoo import speed
from backends.acrobat.tests.zoo.case import Case
from bench import machine


class Executable:
    """Stands in for an executable: gives the module's results plus `error`."""

    def __init__(self, module: nn.Module, error: float) -> None:
        self.module, self.error, self.closed = module, error, False

    def __call__(self, instances: list[Any]) -> list[Any]:
        return [self.module(instance) + self.error for instance in instances]

    def close(self) -> None:
        self.closed = True


CASE = Case("line", lambda: nn.Linear(2, 2), lambda rng: torch.tensor([rng.random(), 1.0]))


def made(monkeypatch: pytest.MonkeyPatch, error: float) -> list[Executable]:
    executables: list[Executable] = []

    def compile(module: nn.Module, **_: Any) -> Executable:
        executables.append(Executable(module, error))
        return executables[-1]

    monkeypatch.setattr(speed, "compile", compile)
    monkeypatch.setattr(speed, "SECONDS", 0.0)
    return executables


def test_times_and_their_quotient(monkeypatch: pytest.MonkeyPatch) -> None:
    executables = made(monkeypatch, 0.0)
    found = speed.measure(CASE)
    assert found.model == "line" and found.rounds == speed.ROUNDS[0] and executables[0].closed
    assert found.eager_ms > 0 and found.acrobat_ms > 0 and found.low <= found.speed_up <= found.high


def test_what_is_wrong_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    executables = made(monkeypatch, 0.01)
    with pytest.raises(AssertionError, match="instance 0 of 64"):
        speed.measure(CASE)
    assert executables[0].closed


def test_the_table(tmp_path: Path) -> None:
    rows = [
        speed.Speed("slow", 2.0, 1.0, 2.0, 1.5, 2.5, 5, 3.0),
        speed.Speed("refused", why="refused: no"),
        speed.Speed("fast", 8, 1, 8),
    ]
    table, page = speed.write(rows, tmp_path)
    read = list(csv.DictReader(table.open()))
    assert [(row["model"], row["speed_up"], row["why"]) for row in read] == [
        ("slow", "2", ""),
        ("refused", "", "refused: no"),
        ("fast", "8", ""),
    ]
    text = page.read_text()
    assert text.index("| fast |") < text.index("| slow |") < text.index("- refused: refused: no")
    assert "Median of 2 models: 5.0 times faster" in text


def test_some_models_leave_the_table_of_all_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command, "CASES", [CASE])
    monkeypatch.setattr(command, "measure", lambda case, folder: speed.Speed(case.name, 2.0, 1.0, 2.0))
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    assert command.main(["--speed", "line"]) == 0
    assert not list(tmp_path.iterdir())
    assert command.main(["--speed"]) == 0
    (table,) = tmp_path.glob("results/*/zoo.csv")
    assert math.isclose(float(next(csv.DictReader(table.open()))["speed_up"]), 2.0)
    with pytest.raises(SystemExit):
        command.main(["--speed", "no_such_model"])
