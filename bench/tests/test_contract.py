"""The contract test: every backend on every workload, at the size `tiny`, on the CPU, measured and verified as usual.

The usual tests run every backend on trees, on a model that waits for tensors, and on grids (`ALWAYS`). The other pairs, which
repeat what each backend's own tests show, are left to `scripts/exhaustive`."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench import api, registry, targets
from bench.cell import Cell
from bench.config import Isolate
from bench.facts import instruction_set
from bench.status import Status
from bench.tests.conftest import QUICK, SLOW_AT_FIRST, accusing, cell
from bench.tests.holes import HOLES, PREPARES

BACKENDS = registry.names("backend")
WORKLOADS = registry.names("workload")


def expected_hole(cell: Cell, holes: Mapping[str, str]) -> str | None:
    """The key of the hole that is listed for the cell, or None. A key without options is for all variants."""
    options = {name: str(value) for name, value in cell.backend.options.items()}
    for key in holes:
        workload, *settings = key.split()
        if workload == cell.workload.name and dict(s.split("=", 1) for s in settings).items() <= options.items():
            return key
    return None


def missing(cell: Cell) -> list[str]:
    """The modules that the cell's backend names as optional and that are not installed."""
    optional = getattr(targets.resolve(cell.backend.target), "optional", ())
    return [module for module in optional if importlib.util.find_spec(module) is None]


def judge(cell: Cell, row: Mapping[str, Any], holes: Mapping[str, str]) -> str:
    """The expected reason why a cell could not be measured, or "" for one that was. Raises AssertionError for all else."""
    hole = expected_hole(cell, holes)
    if row["status"] == Status.UNAVAILABLE and missing(cell):
        return f"unavailable: {row['why']}"
    if hole is not None:
        assert row["status"] == Status.UNSUPPORTED, f"holes.py expects a hole at {hole!r}, and it is {row['status']}"
        assert holes[hole] in row["why"], f"the hole {hole!r} has another reason than bench/tests/holes.py: {row['why']}"
        return f"unsupported: {row['why']}"
    assert row["status"] != Status.UNSUPPORTED, f"a hole that is not in bench/tests/holes.py: {row['why']}"
    assert row["status"] == Status.OK, f"{row['status']}: {row['why']}"
    return ""


def test_there_is_something_to_test() -> None:
    assert "pytorch" in BACKENDS
    assert "treelstm" in WORKLOADS


def test_the_holes_are_of_backends_and_workloads_that_exist() -> None:
    assert set(HOLES) <= set(BACKENDS)
    assert {key.split()[0] for holes in HOLES.values() for key in holes} <= set(WORKLOADS)
    assert all(reason.strip() for holes in HOLES.values() for reason in holes.values())


ALWAYS = ("treelstm", "drnn", "dagrnn")


def test_what_is_always_run_exists() -> None:
    assert set(ALWAYS) <= set(WORKLOADS)


def pairs() -> list[Any]:
    """All backends with all workloads. Those with workloads that are not in `ALWAYS` are marked as exhaustive."""
    return [
        pytest.param(backend, workload, marks=() if workload in ALWAYS else pytest.mark.exhaustive)
        for backend in BACKENDS
        for workload in WORKLOADS
    ]


@pytest.mark.parametrize(("backend", "workload"), pairs())
def test_contract(backend: str, workload: str, tmp_path: Path) -> None:
    all_variants = ("measure=quick", "measure.variants=true")
    found = api.cells(f"workload={workload}", f"backend=[{backend}]", "size=tiny", "batch_size=5", *all_variants, "seed=3")
    holes = HOLES.get(backend, {})
    reasons = []
    for each in found:
        measured = partial(api.run, replace(each, minibatches=3), QUICK, Isolate(deadline_s=600.0), tmp_path)
        row = measured()
        try:
            reason = judge(each, row, holes)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{(tmp_path / row['log']).read_text()[-4000:]}") from None
        if reason:
            reasons.append(reason)
            continue
        assert row["verified"]["n"] == 15
        setting, value = PREPARES.get(backend, ("", None))
        prepares = setting and row["options"][setting] == value
        flags = [f for f in accusing(row, measured) if not (prepares and f.endswith(SLOW_AT_FIRST))]
        assert flags == [], f"{row['flags']} {row['fresh']} {row['elapsed']}"
        assert row["ran"]["threads"] >= 1 and row["ran"]["library"] and instruction_set(row["ran"])
        assert row["tuning_variables"]["OMP_NUM_THREADS"] == "1"
        assert len(set(row["sample_round"])) >= QUICK.min_rounds
    listed = {key for key in holes if key.split()[0] == workload}
    assert listed <= {expected_hole(each, holes) for each in found}, f"no cell lies in one of the holes {sorted(listed)}"
    if len(reasons) == len(found):
        pytest.skip("; ".join(sorted(set(reasons))))


@pytest.mark.parametrize("how", ["RemembersContent", "RemembersIdentity"])
def test_a_system_that_keeps_answers_is_accused_each_time(how: str, tmp_path: Path) -> None:
    measured = partial(api.run, cell(how), QUICK, Isolate(deadline_s=60.0), tmp_path)
    assert [flag for flag in accusing(measured(), measured) if flag.endswith(SLOW_AT_FIRST)]


def test_a_system_that_is_slow_in_new_mini_batches_only_once_is_not_accused() -> None:
    """Other flags count whenever they come."""
    slow, other = f"mini-batches that it had never seen took 9 times as long{SLOW_AT_FIRST}", "its turns took 3 times as long"
    assert accusing({"flags": [slow, other]}, lambda: {"flags": []}) == [other]
    assert accusing({"flags": [slow, other]}, lambda: {"flags": [slow.replace("9", "7")]}) == [slow, other]
    assert accusing({"flags": [slow]}) == [slow]


@pytest.mark.parametrize(
    ("how", "status", "why", "accepted"),
    [
        ("missing module", Status.UNAVAILABLE, "the module an_optional_module is not installed", True),
        ("broken import", Status.FAILED, "a_module_that_is_no_option", False),
        ("broken name", Status.FAILED, "nothing_of_this_name", False),
        ("refuses", Status.UNSUPPORTED, "only square things", False),
    ],
)
def test_what_is_no_expected_hole_fails(how: str, status: Status, why: str, accepted: bool, tmp_path: Path) -> None:
    """Besides listed holes, the contract test accepts only that a module is missing which the backend names as optional."""
    made = cell(how)
    row = api.run(made, QUICK, Isolate(deadline_s=60.0), tmp_path)
    assert (row["status"], why in row["why"]) == (status, True), row["why"]
    if accepted:
        assert judge(made, row, {})
    else:
        with pytest.raises(AssertionError, match=why):
            judge(made, row, {})


def test_an_expected_hole_is_one_with_its_reason(tmp_path: Path) -> None:
    refuses = api.run(cell("refuses"), QUICK, Isolate(deadline_s=60.0), tmp_path)
    assert judge(cell("refuses"), refuses, {"toy how=refuses": "only square"}) == "unsupported: only square things"
    with pytest.raises(AssertionError, match="has another reason"):
        judge(cell("refuses"), refuses, {"toy": "only round"})
    with pytest.raises(AssertionError, match=r"not in bench/tests/holes\.py"):
        judge(cell("refuses"), refuses, {"toy how=Applied": "only square"})
    with pytest.raises(AssertionError, match="expects a hole"):
        judge(cell(), {"status": Status.OK}, {"toy": "only square"})
