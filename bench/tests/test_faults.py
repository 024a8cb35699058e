"""Whatever a backend does to the harness, its cell gets a row and the other cells go on."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import bench
from bench import closing, memory, replies, table
from bench.campaign import Row
from bench.cell import Cell, Part
from bench.measure import CellGroup
from bench.prepare import Preparer
from bench.status import Status
from bench.store import Record
from bench.tests.conftest import QUICK, STRICT, cell
from bench.tests.test_interference import slow, together
from bench.turns import StopRule


def faulty(how: str) -> Cell:
    return replace(cell(), backend=Part("faulty", "bench.tests.faults.Faulty", {"how": how}))


@pytest.mark.parametrize(
    ("how", "status", "why"),
    [
        ("Garbage", Status.FAILED, "unreadable reply to 'open': JSONDecodeError"),
        ("Binary", Status.FAILED, "unreadable reply to 'open': UnicodeDecodeError"),
        ("Forged", Status.FAILED, "unreadable reply to"),  # the true one comes before the next request, or after it
        ("UnknownStatus", Status.FAILED, "no verdict: status 'splendid'"),
        ("NotAnObject", Status.FAILED, "it is a list, not an object"),
        ("MissingKeys", Status.FAILED, "it has no 'compile_s'"),
        ("WrongTypes", Status.FAILED, "'compile_s' cannot be soon"),
        ("NaNTime", Status.FAILED, "'compile_s' cannot be None"),
        ("Endless", Status.FAILED, "it is longer than 64 MiB"),
        ("ForkSurvives", Status.FAILED, "the process ended with code 7"),
        ("RealTimeSignal", Status.FAILED, "the process was ended by signal 40"),
        ("RemovesLog", Status.FAILED, "the process was ended by SIGSEGV"),
        ("UnsupportedLate", Status.FAILED, "Unsupported: trees after all"),
        ("AllocatesNames", Status.FAILED, "ValueError: cannot allocate a name"),
        ("CountersRaise", Status.FAILED, "RuntimeError: lost count"),
        ("NoCounters", Status.FAILED, "TypeError"),
    ],
)
def test_what_breaks_the_protocol_is_a_failed_row(how: str, status: Status, why: str, tmp_path: Path) -> None:
    row = bench.run(faulty(how), QUICK, STRICT, tmp_path, stored=True)
    assert row["status"] == status
    assert why in row["why"]
    (line,) = (tmp_path / row["machine"] / "cells.jsonl").read_text().splitlines()
    assert json.loads(line) == row


def test_a_full_disk_is_no_fault_of_the_cell(tmp_path: Path) -> None:
    row = bench.run(faulty("FullDisk"), QUICK, STRICT, tmp_path)
    assert (row["status"], row["why"]) == (Status.FAILED, "RuntimeError: the compiler failed:")
    assert row["again"], "the next command tries again"


def test_a_full_disk_of_the_harness_is_a_row_of_each_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Preparer, name: str) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Preparer, "_log", full)
    for row in bench.run([cell(), faulty("Garbage")], QUICK, STRICT, tmp_path):
        assert row["status"] == Status.FAILED and row["again"]
        assert row["why"] == "error of the harness: OSError: [Errno 28] No space left on device"


def test_a_process_is_ended_where_the_others_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Any:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("psutil.process_iter", refuse)
    assert bench.run(cell(), QUICK, STRICT, tmp_path)["status"] == Status.OK


def test_counters_that_are_no_numbers_are_null_and_flagged(tmp_path: Path) -> None:
    row = bench.run(faulty("OddCounters"), QUICK, STRICT, tmp_path, stored=True)
    assert row["status"] == Status.OK, row["why"]
    assert row["breakdown"] == {}
    assert row["counters"] == {"batches": None, "launches": 3.0, "which": None}
    assert row["flags"][:1] == ["counters that are no finite numbers: kernel_ms, copy_ms, batches, which"]


def test_counters_are_numbers_and_no_tensors(tmp_path: Path) -> None:
    row = bench.run(faulty("TensorCounters"), QUICK, STRICT, tmp_path, stored=True)
    assert row["status"] == Status.OK, row["why"]
    assert row["counters"] == {"batches": 3.0, "launches": None, "nodes": None}
    assert row["flags"][:1] == ["counters that are no finite numbers: launches, nodes"]


def test_what_a_backend_says_of_itself_fills_no_row_and_no_terminal(tmp_path: Path) -> None:
    row = bench.run(cell("BoastsOfItself"), QUICK, STRICT, tmp_path, stored=True)
    assert row["status"] == Status.OK, row["why"]
    assert len(json.dumps(row)) < 100_000
    assert row["counters"] == {"batches": 3.0} and "library" not in row["ran"]
    for start in ("facts() gave library='\\x1b[2Jxxx", "counters of more than 256 KiB"):
        assert [flag for flag in row["flags"] if flag.startswith(start)], row["flags"]
    shown = io.StringIO()
    named = {**row, "counters": {"unbatched": {"\x1b[2Jsum": "no\x07"}}, "flags": ["\x1b[31mred"]}
    table.show([Row(cell("BoastsOfItself"), named)], Console(file=shown))
    assert "not batched: sum (no )" in shown.getvalue() and "red" in shown.getvalue() and "\x1b" not in shown.getvalue()


def test_answers_that_are_not_finite_are_not_the_backends_fault(tmp_path: Path) -> None:
    weights = Part("toy", "bench.tests.faults.NaNWeights", {"data": None})
    row = bench.run(replace(cell(), workload=weights), QUICK, STRICT, tmp_path)
    assert (row["status"], row["again"]) == (Status.UNVERIFIED, True)
    assert row["why"] == "no oracle: the oracle's own output is not finite"


def test_a_counter_that_is_no_mapping_is_null_and_flagged(tmp_path: Path) -> None:
    row = bench.run(faulty("OddMapping"), QUICK, STRICT, tmp_path)
    assert row["counters"] == {"unbatched": None}
    assert row["flags"][:1] == ["counters that are no mappings: unbatched"]
    table.show([Row(faulty("OddMapping"), row)], Console(file=io.StringIO()))


def test_no_cell_begins_where_others_have_nearly_all_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory goes when the first cell is ready: the second would only fail for want of it."""
    cells = [cell(), replace(cell(), backend=Part("cheat", "bench.tests.fakes.Cheat", {"how": "Applied", "note": "other"}))]
    begin = Preparer.begin
    rows: dict[str, Record] = {}

    def begins(self: Preparer, begun: Cell) -> Any:
        if begun == cells[1]:
            monkeypatch.setattr(memory, "free_memory", lambda: 273 << 20)
        return begin(self, begun)

    monkeypatch.setattr(Preparer, "begin", begins)
    CellGroup(cells, QUICK, STRICT, tmp_path, lambda *_: None, lambda c, row: rows.update({c.id: row})).run()
    assert rows[cells[0].id]["status"] == Status.OK
    refused = rows[cells[1].id]
    assert (refused["status"], refused["again"]) == (Status.UNAVAILABLE, True)
    assert refused["why"] == "only 273 MiB of memory are free for it, and no cell begins with less than 512 MiB"
    rows.clear()
    CellGroup(cells, QUICK, STRICT, tmp_path, lambda *_: None, lambda c, row: rows.update({c.id: row})).run()
    assert {(row["status"], row["again"]) for row in rows.values()} == {(Status.UNAVAILABLE, True)}, "before any has begun"


def test_cells_that_an_interruption_ends_get_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interruption comes while another cell is being checked, whose process is then killed."""
    cells = [cell(), faulty("Slow")]
    check = Preparer.check

    def interrupted(self: Preparer, prepared: Any) -> None:
        if prepared.cell == cells[0]:
            raise KeyboardInterrupt
        check(self, prepared)

    monkeypatch.setattr(Preparer, "check", interrupted)
    rows: list[Record] = []
    group = CellGroup(cells, QUICK, STRICT, tmp_path, lambda *_: None, lambda c, row: rows.append(row))
    group._processors = 2
    with pytest.raises(KeyboardInterrupt):
        group.run()
    assert not rows


def test_a_mistake_in_completing_a_row_is_a_row_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(self: CellGroup, running: Any) -> None:
        raise OverflowError("too large")

    monkeypatch.setattr(CellGroup, "_complete", mistaken)
    row = bench.run(cell(), QUICK, STRICT, tmp_path)
    assert (row["status"], row["why"]) == (Status.FAILED, "error of the harness: OverflowError: too large")


def test_samples_stand_when_closing_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "CLOSE_S", 1.0)
    row = bench.run(cell("HangsInClose"), QUICK, STRICT, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    found = [flag for flag in row["flags"] if flag.startswith("close() did not work: still in 'end' at its deadline")]
    assert found, row["flags"]


@pytest.mark.parametrize(("how", "why"), [("CloseRaises", "RuntimeError: cannot let go"), ("CloseCrashes", "SIGABRT")])
def test_samples_stand_when_closing_fails(how: str, why: str, tmp_path: Path) -> None:
    row = bench.run(faulty(how), QUICK, STRICT, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    assert len(row["samples_s"]) >= 3
    assert any(flag.startswith("close() did not work: ") and why in flag for flag in row["flags"])


def test_a_mistake_of_the_harness_is_a_row_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [cell(), replace(cell(), backend=Part("cheat", "bench.tests.fakes.Cheat", {"how": "Applied", "note": "other"}))]
    turn = CellGroup._turn

    def mistaken(self: CellGroup, running: Any, *rest: Any) -> None:
        if running.cell == cells[0]:
            raise KeyError("no such thing")
        turn(self, running, *rest)

    monkeypatch.setattr(CellGroup, "_turn", mistaken)
    rows: dict[str, Record] = {}
    CellGroup(cells, QUICK, STRICT, tmp_path, lambda *_: None, lambda c, row: rows.update({c.id: row})).run()
    failed, fine = rows[cells[0].id], rows[cells[1].id]
    assert (failed["status"], failed["why"]) == (Status.FAILED, "error of the harness: KeyError: 'no such thing'")
    assert "Traceback" in (tmp_path / failed["log"]).read_text()
    assert fine["status"] == Status.OK, fine["why"]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("HugePasses", "unreadable reply to 'turn': 'sample_pass' cannot be"),
        ("TinySamples", "a sample is not a positive number of nanoseconds"),
    ],
)
def test_absurd_numbers_are_a_row_and_the_others_go_on(how: str, why: str, tmp_path: Path) -> None:
    absurd, honest = together([cell(how), slow()], tmp_path)
    assert absurd["status"] == Status.FAILED and why in absurd["why"], absurd["why"]
    assert honest["status"] == Status.OK, honest["why"]


def test_a_mistake_between_turns_is_a_row_of_each_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(self: StopRule, *_: Any, **__: Any) -> None:
        raise ArithmeticError("no")

    monkeypatch.setattr(StopRule, "look", mistaken)
    rows = together([cell(), slow(), cell("Raises")], tmp_path)
    assert {row["status"] for row in rows} == {Status.FAILED}
    why = "error of the harness: ArithmeticError: no"
    assert [row["why"] for row in rows] == [why, why, "ValueError: no such thing"]


def test_every_reply_is_checked() -> None:
    """The schema of a turn accepts what the worker sends, and refuses replies with missing keys or wrong values."""
    turn = {
        "samples_s": [0.1, 0.2],
        "sample_pass": [0, 1],
        "settled_s": 0,
        "counters": [{"x": None}],
        "outputs": [],
    }
    assert replies.parse(json.dumps(turn).encode(), "turn") == turn
    for key in turn:
        with pytest.raises(replies.Unreadable, match=key):
            replies.parse(json.dumps({k: v for k, v in turn.items() if k != key}).encode(), "turn")
    for key, bad in (
        ("samples_s", [0.1, -1]),
        ("samples_s", [True, 1]),
        ("sample_pass", [0.5, 1]),
        ("counters", {}),
        ("counters", [1]),
        ("outputs", [{"minibatch": 0}]),
        ("settled_s", None),
    ):
        with pytest.raises(replies.Unreadable, match=f"'{key}' cannot be"):
            replies.parse(json.dumps({**turn, key: bad}).encode(), "turn")
    with pytest.raises(replies.Unreadable, match="2 samples of 1 passes"):
        replies.parse(json.dumps({**turn, "sample_pass": [0]}).encode(), "turn")
    wrong = {**turn, "status": "wrong", "why": "off"}
    assert replies.parse(json.dumps(wrong).encode(), "turn") == wrong
    closed = {"fetches": [[0, 9, 3, None, True], [1, 9, 3, -2, False]], "peak_rss_bytes": 1, "ran": {"threads": 1}, "flags": []}
    assert replies.parse(json.dumps(closed).encode(), "close") == closed
    unlike: list[Any] = [
        {},
        [0, 9, 3, None],
        [-1, 9, 3, 3, True],
        [0, 9, None, 3, True],
        [0, 9, 3, "late", True],
        [0, 9, 3, 3, 2],
    ]
    for fetch in unlike:
        with pytest.raises(replies.Unreadable, match="'fetches' cannot be"):
            replies.parse(json.dumps({**closed, "fetches": [fetch]}).encode(), "close")
    for ran in ({"threads": "x"}, {"library": 3}, {"else": "x"}):
        with pytest.raises(replies.Unreadable, match="'ran' cannot be"):
            replies.parse(json.dumps({**closed, "ran": ran}).encode(), "close")
    with pytest.raises(replies.Unreadable, match="emulated"):
        replies.parse(b'{"load_s": 1}', "load")
    assert replies.parse(b'{"run_s": 1, "sample_pass": [1]}', "probe")["run_s"] == 1
    with pytest.raises(replies.Unreadable, match="no verdict"):
        replies.parse(b'{"status": "ok", "why": "fine"}', "turn")
