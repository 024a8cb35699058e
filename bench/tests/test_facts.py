"""The facts that a backend states, how they are checked, and how they are described."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from bench import facts
from bench.facts import Invalid, collect, describe, validated_facts


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
    with pytest.raises(Invalid, match=reason):
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
        with pytest.raises(Invalid, match="properties"):
            validated_facts(wrong)
