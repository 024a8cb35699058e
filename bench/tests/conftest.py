"""Fixtures and helpers that the harness's tests share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.cell import Cell, Part
from bench.config import Isolate, Measure
from bench.template import Template

FAKES = "bench.tests.fakes"
CONF = Path(__file__).parent / "conf"
QUICK = Measure(name="quick", minibatches=3, turn_s=0.001, timed_passes=2, min_rounds=2, max_rounds=4, budget_s=1.0, warm_s=0.0)
STRICT = Isolate(deadline_s=60.0, memory_gb=1.0)


HARMLESS = ("other processes used ", "processor clock between ", "it changed while it was measured: ", "only ")
SLOW_AT_FIRST = ", the first time"  # how the flag ends that a system gets for keeping answers, or where the machine was busy


def accusing(row: Mapping[str, Any], again: Callable[[], Mapping[str, Any]] | None = None) -> list[str]:
    """The flags of a row that accuse the system of something: all but those that an honest one can have, about the machine and
    for being slow. So a flag that is new counts as one that accuses. `again` measures the cell once more: then a flag for being
    slow in the first runs of new mini-batches counts only if it comes back, as it does for a system that keeps answers."""
    flags = [flag for flag in row["flags"] if not flag.startswith(HARMLESS)]
    at_first = [flag for flag in flags if flag.endswith(SLOW_AT_FIRST)]
    if at_first and again is not None and not any(flag.endswith(SLOW_AT_FIRST) for flag in again()["flags"]):
        return [flag for flag in flags if flag not in at_first]
    return flags


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Template]:
    """The processes from which those of cells are forked, as far as a test has started them: none where no cell was begun."""
    found: list[Template] = []

    class Noted(Template):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            found.append(self)

    monkeypatch.setattr("bench.prepare.Template", Noted)
    return found


@pytest.fixture(scope="session", autouse=True)
def of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The tests have a cache of their own, and a lock of their own, so that they do not wait for other campaigns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("BENCH_LOCK", str(tmp_path_factory.mktemp("lock") / "lock"))
        yield


def cell(how: str = "Applied", note: str = "", batch_size: int = 4) -> Cell:
    """The toy workload on the fake backend that `how` names."""
    backend = Part("cheat", f"{FAKES}.Cheat", {"how": how, "note": note})
    return Cell(Part("toy", f"{FAKES}.Toy", {"data": None}), backend, "tiny", batch_size, minibatches=3, measure="quick")


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., list[str]]:
    """Makes the command line of `python -m bench` with the fake backends and a folder of results of its own."""

    def make(*arguments: str) -> list[str]:
        flags = ["--config-dir", str(CONF), *(each for each in arguments if each.startswith("-"))]
        usual = [f"results_dir={tmp_path / 'results'}", "workload=toy", "size=tiny", "batch_size=4", "lock=ignore"]
        overrides = [each for each in arguments if not each.startswith("-")]
        return [sys.executable, "-m", "bench", *flags, *usual, *overrides]

    return make


@pytest.fixture
def bench(command: Callable[..., list[str]]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `python -m bench` with the fake backends, and returns the process that has ended."""
    return lambda *arguments: subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
