"""Cells that disturb the machine, other cells or the results: it shows, and the other cells get their rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bench
from bench import standing, turns
from bench.campaign import Campaign
from bench.cell import Cell, Part
from bench.config import Config, Isolate, Measure
from bench.measure import CellGroup
from bench.standing import Standing
from bench.status import Status
from bench.store import Record, Store
from bench.tests.conftest import FAKES, QUICK, STRICT, accusing, cell
from bench.turns import PAUSE_S

LONGER = replace(QUICK, min_rounds=12, max_rounds=12, budget_s=60.0)
SEVERAL = len(os.sched_getaffinity(0)) > 1


def slow() -> Cell:
    """An honest cell that sleeps in each run, so that the others are idle for a while."""
    return replace(cell(), backend=Part("honest", f"{FAKES}.Honest", {"label": 0, "pace": "slow"}))


def together(cells: list[Cell], results: Path, measure: Measure = QUICK, processors: int | None = None) -> list[Record]:
    """The rows of cells that are measured in one session."""
    rows: dict[str, Record] = {}
    group = CellGroup(cells, measure, STRICT, results, lambda *_: None, lambda c, row: rows.update({c.id: row}))
    if processors is not None:
        group._processors = processors
    group.run()
    return [rows[each.id] for each in cells]


def test_a_cell_whose_interval_is_narrow_takes_turns_until_all_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The samples of one cell hardly differ, so alone it ends at the second look. Those of the other are ten times as long in
    every second round, so its interval is never narrow."""
    keep = turns.keep

    def replaced(row: Record, number: int, ran: Sequence[int], first: int, reply: dict[str, Any]) -> None:
        scale = {"steady": 1.0 + number % 3 * 1e-4, "wild": 1.0 + number % 2 * 9.0}[row["options"]["note"]]
        keep(row, number, ran, first, {**reply, "samples_s": [0.01 * scale] * len(reply["samples_s"])})

    monkeypatch.setattr(turns, "keep", replaced)
    measure = replace(QUICK, min_rounds=2, max_rounds=18, budget_s=600.0, relative_ci=0.05)
    (alone,) = together([cell(note="steady")], tmp_path, measure)
    assert (alone["stop"], set(alone["sample_round"])) == ("interval", set(range(15)))
    steady, wild = together([cell(note="steady"), cell(note="wild")], tmp_path, measure)
    for row in (steady, wild):
        assert row["stop"] == "rounds"
        assert set(row["sample_round"]) == set(range(measure.max_rounds))


def test_a_turn_begins_after_a_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also that of a cell which is alone. No time passes by the group's clock, so that the whole pause is left."""
    pauses: list[float] = []
    monkeypatch.setattr("bench.measure.sleep", pauses.append)
    monkeypatch.setattr("bench.measure.monotonic", lambda: 1000.0)
    (row,) = together([cell()], tmp_path)
    assert row["status"] == Status.OK, row["why"]
    assert pauses == [0.0, *[pytest.approx(PAUSE_S)] * (QUICK.max_rounds - 1)]


@pytest.mark.parametrize("how", ["SpinsBetween", "ThreadSpins", "DetachedSpins", "WorksBetweenTurns"])
def test_work_while_others_have_their_turn_is_a_flag(how: str, tmp_path: Path) -> None:
    spinning, honest = together([cell(how), slow()], tmp_path, LONGER)
    assert [flag for flag in spinning["flags"] if "while others had their turn" in flag], spinning["flags"]
    assert honest["status"] == Status.OK, honest["why"]
    assert not [flag for flag in honest["flags"] if "while others had their turn" in flag]
    if how == "DetachedSpins":
        assert [flag for flag in spinning["flags"] if "left 1 process behind" in flag], spinning["flags"]


def test_more_threads_than_asked_for_are_a_flag(tmp_path: Path) -> None:
    row = bench.run(cell("MoreThreads"), QUICK, STRICT, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    assert [flag for flag in row["flags"] if flag.endswith(", asked for 1 thread")], row["flags"]


def test_who_is_killed_by_another_is_measured_again(tmp_path: Path) -> None:
    killed, _ = together([slow(), cell("KillsOthers")], tmp_path)
    assert (killed["status"], killed["again"]) == (Status.FAILED, True)
    assert "SIGKILL" in killed["why"]


def test_a_priority_that_was_changed_is_a_flag(tmp_path: Path) -> None:
    if os.getpriority(os.PRIO_PROCESS, 0) == 19:
        pytest.skip("the tests run at the lowest priority")
    slowed, _ = together([slow(), cell("SlowsOthers")], tmp_path)
    assert slowed["status"] == Status.OK, slowed["why"]
    assert [flag for flag in slowed["flags"] if "its priority was changed" in flag and "became 19" in flag], slowed["flags"]


@pytest.mark.skipif(not SEVERAL, reason="there is one processor")
def test_other_processors_than_those_given_are_a_flag(tmp_path: Path) -> None:
    first, second, *_ = sorted(os.sched_getaffinity(0))
    pinned = Isolate(deadline_s=60.0, memory_gb=1.0, cpus=str(first))
    row = bench.run(cell("LeavesItsProcessors", note=f"{first},{second}"), QUICK, pinned, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    wanted = f"its processors were changed while it was measured: {first} became {first}, {second}"
    assert wanted in row["flags"]


def test_what_counts_as_altered() -> None:
    usual = Standing(0, 0, frozenset({0, 1}))
    assert standing.altered(usual, usual) == standing.altered(None, usual) == standing.altered(usual, None) == []
    assert "nice 0 became 5" in standing.altered(usual, usual._replace(nice=5))[0]
    assert "policy was changed" in standing.altered(usual, usual._replace(policy=1))[0]
    assert "0, 1 became 1" in standing.altered(usual, usual._replace(processors=frozenset({1})))[0]
    assert standing.standing(os.getpid()) is not None
    assert standing.standing(2**22 + 1) is None


@pytest.mark.parametrize("systems", ["one", "two"])
def test_cells_cannot_leave_answers_for_each_other(systems: str, tmp_path: Path) -> None:
    """The first cell to be checked works for new mini-batches, and the second looks for these answers. They are variants of one
    system, or of two that know of each other."""
    (tmp_path / "left").mkdir()
    cells = [cell("Colludes", note=f"{tmp_path / 'left'}|{name}") for name in "ab"]
    if systems == "two":
        cells[1] = replace(cells[1], backend=replace(cells[1].backend, name="accomplice"))
    for row in together(cells, tmp_path, processors=1):
        assert row["status"] == Status.OK, row["why"]
        assert [flag for flag in row["flags"] if "had never seen" in flag], (row["flags"], row["fresh"])


def test_settings_of_libraries_stay_in_their_cell(tmp_path: Path) -> None:
    changed, honest = together([cell("ChangesLibraries"), cell()], tmp_path)
    for row in (changed, honest):
        assert row["status"] == Status.OK, row["why"]
        assert accusing(row) == []
        assert row["verified"]["n"] == 12 and row["verified"]["times_float32"] < 10


def test_logs_that_are_gone_end_nothing(tmp_path: Path) -> None:
    removed, honest = together([cell("RemovesLogs"), slow()], tmp_path)
    assert (removed["status"], honest["status"]) == (Status.OK, Status.OK), (removed["why"], honest["why"])


@pytest.mark.parametrize(("how", "said"), [("ForgesRows", True), ("Applied", False)])
def test_rows_that_another_wrote_are_told(how: str, said: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backend = {"cheat": {"_target_": f"{FAKES}.Cheat", "how": how}}
    measure = replace(QUICK, name="short")
    Campaign().run(Config({"_target_": f"{FAKES}.Toy"}, backend, "tiny", 4, measure=measure, results_dir=str(tmp_path)))
    assert ("cells.jsonl: another program has changed it while this one measured" in capsys.readouterr().err) is said


def adds(rows: Path) -> None:
    rows.write_text(rows.read_text() + "{}\n")


def empties(rows: Path) -> None:
    rows.write_text("")


@pytest.mark.parametrize("change", [None, adds, empties, Path.unlink])
def test_a_file_of_rows_that_others_change(change: Callable[[Path], None] | None, tmp_path: Path) -> None:
    store = Store(tmp_path, "machine")
    store.open()
    store.watch()
    store.append({"id": "a"})
    if change is not None:
        change(store.path)
    store.append({"id": "b"})
    assert store.was_changed() is (change is not None)
