"""The facts that a backend states, how they are checked and described, and that they stand in the rows of real runs."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from time import sleep
from typing import Any, ClassVar

import pytest

import bench
from bench import facts, machine, software
from bench.config import Isolate
from bench.facts import InvalidFacts, collect, describe, validated_facts
from bench.instructions import FEW, WIDTHS, instruction_sets, observe
from bench.status import Status
from bench.store import Store
from bench.tests.conftest import QUICK, STRICT, cell
from bench.tests.test_contract import missing


class Silent:
    def __init__(self) -> None:
        self.runs: list[Any] = []

    def run(self, minibatch: Any) -> None:
        self.runs.append(minibatch)


class Telling(Silent):
    told: ClassVar[Any] = {"instruction_set": "avx512", "library": "own loops 1.0", "threads": 2, "load_time": "tables"}

    def facts(self) -> Any:
        return self.told


def test_a_backend_need_not_say_anything() -> None:
    assert collect(Silent()) == ({}, [])  # type: ignore[arg-type]


def test_what_is_seen_counts_more_than_what_is_said() -> None:
    ran, flags = collect(Telling())  # type: ignore[arg-type]
    assert not flags
    assert facts.instruction_set(ran) == "avx512"
    ran["instructions_seen"] = {"avx2": 40, "avx512": 8}
    assert facts.instruction_set(ran) == "avx2, avx512"
    assert describe(ran) == "AVX2 and AVX-512, own loops 1.0, 2 threads, tables computed when the model was loaded"


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (None, "gave NoneType, not a mapping"),
        ({"threads": 0}, "threads=0, not a number of threads"),
        ({"threads": True}, "threads=True"),
        ({"library": 3}, "library=3, not a text"),
        ({"speed": "high"}, "'speed'; known are instruction_set, library, load_time, precision, threads and properties"),
    ],
)
def test_unusable_facts_are_a_flag(monkeypatch: pytest.MonkeyPatch, told: Any, reason: str) -> None:
    monkeypatch.setattr(Telling, "told", told)
    with pytest.raises(InvalidFacts, match=reason):
        validated_facts(told)
    ran, flags = collect(Telling())  # type: ignore[arg-type]
    assert ran == {}
    assert len(flags) == 1
    assert reason in flags[0]


def test_descriptions() -> None:
    assert describe({}) == ""
    assert describe({"threads": 1}) == "1 thread"
    assert describe({"instruction_set": "avx2", "library": "Eigen in dyNET38 2.2", "threads": 1, "load_time": ""}) == (
        "AVX2, Eigen in dyNET38 2.2, 1 thread"
    )


def test_properties_of_a_model_are_what_json_can_hold() -> None:
    told = {"properties": {"recursive": True, "depth": 11}}
    assert validated_facts(told) == told
    for wrong in ({"properties": [1]}, {"properties": {"depth": float("nan")}}, {"properties": {"of": object()}}):
        with pytest.raises(InvalidFacts, match="properties"):
            validated_facts(wrong)


@cache
def observable() -> bool:
    """Whether one process may look into another here."""
    return observe(lambda: sleep(0.01), seconds=0.2) is not None


def test_a_stored_row_has_what_was_seen_and_what_the_backend_says(tmp_path: Path) -> None:
    if not observable():
        pytest.skip("one process may not look into another here")
    bench.run(cell("Multiplies"), QUICK, STRICT, tmp_path, stored=True)
    (row,) = Store(tmp_path, machine.name())
    assert row["status"] == Status.OK, row["why"]
    seen = row["ran"]["instructions_seen"]
    assert set(seen) <= set(WIDTHS.values()) and sum(seen.values()) >= FEW
    assert row["ran"] == {"library": "numpy", "threads": 1, "instructions_seen": seen}
    assert facts.instruction_set(row["ran"])


@pytest.mark.parametrize(
    ("backend", "library"), [("acrobat", "generated kernels, "), ("pytorch", "PyTorch "), ("dynet", "Eigen in ")]
)
def test_a_stored_row_of_a_real_system_says_what_it_ran_on(backend: str, library: str, tmp_path: Path) -> None:
    """On a model large enough that a good part of the time goes to arithmetic."""
    settings = ("workload=treelstm", f"backend=[{backend}]", "size=small", "batch_size=8")
    (one,) = bench.cells(*settings, "measure=quick", "measure.variants=false")
    if missing(one):
        pytest.skip(f"{backend} is not installed")
    bench.run(one, QUICK, Isolate(deadline_s=600.0), tmp_path, stored=True)
    (row,) = Store(tmp_path, machine.name())
    assert row["status"] == Status.OK, row["why"]
    assert row["ran"]["library"].startswith(library) and row["ran"]["threads"] == 1
    assert set(row["ran"]["instruction_set"].split(", ")) <= set(WIDTHS.values())
    assert bool(instruction_sets(row["ran"].get("instructions_seen"))) is observable(), row["ran"]
    assert row["environment"] == machine.environment()[0]
    assert row["software"]["torch"] == software.version("torch")
