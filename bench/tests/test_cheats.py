"""Backends that cheat or break (fakes/): each gets the right status with the right reason."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import bench
from bench.cell import Part
from bench.config import Isolate
from bench.status import Status
from bench.tests.conftest import FAKES, QUICK, STRICT, accusing, cell
from bench.tests.fakes import WORK_S


@pytest.mark.parametrize(
    ("how", "status", "why"),
    [
        ("Applied", Status.OK, None),
        ("Prints", Status.OK, None),
        ("PreviousResult", Status.WRONG, "before timing"),
        ("HonestUntilTimed", Status.WRONG, "as timed"),
        ("OverwritesInput", Status.WRONG, "changed its inputs"),
        ("OverwritesInputUnseen", Status.WRONG, "changed its inputs"),
        ("Unwritten", Status.WRONG, "before timing"),
        ("NotANumber", Status.WRONG, "nan"),
        ("Slightly", Status.WRONG, "1 of 64 elements, 1 of 4 instances"),
        ("TooFew", Status.WRONG, "structure"),
        ("LateThread", Status.WRONG, "before timing"),
        ("LateReused", Status.WRONG, "before timing"),
        ("ChangesAndRestoresInput", Status.OK, None),
        ("RaisesWhenFreed", Status.OK, None),
        ("ChangesLibraries", Status.OK, None),
        ("Swapped", Status.WRONG, "2 of 4 instances"),
        ("Integers", Status.WRONG, "wrong kind (integer for float, or the reverse)"),
        ("Complex", Status.WRONG, "an output is an array of complex64, not an array of floats or integers"),
        ("Texts", Status.WRONG, "an output is a str, not an array of floats or integers"),
        ("NestsEndlessly", Status.FAILED, "RecursionError"),
        ("GarbageInTheSeventhRun", Status.WRONG, "as timed"),
        ("RemembersStructure", Status.WRONG, "before timing"),
        ("ComputesOnAccess", Status.WRONG, "not complete when run() returned"),
        ("PatchesNumpy", Status.WRONG, "not complete when run() returned"),
        ("WorksInCounters", Status.WRONG, "times as long as its samples tell, every time"),
        ("AnswersInCompile", Status.WRONG, "never seen took at least"),
        ("AsksAnotherEveryTime", Status.WRONG, "never seen took at least"),
        ("PatchesShow", Status.WRONG, "times as long as its samples tell, every time"),
        ("LateFetch", Status.WRONG, "not complete when run() returned"),
        ("LazyEveryTime", Status.WRONG, "not complete when run() returned"),
        ("LazyTwoOfThree", Status.WRONG, "not complete when run() returned"),
        ("LazyLittle", Status.WRONG, "not complete when run() returned"),
        ("PatchesDefaults", Status.WRONG, "its clock told"),
        ("PatchesSample", Status.WRONG, "its clock told"),
        ("Float16Outputs", Status.WRONG, "outputs are float16"),
        ("RoundedToFloat16", Status.WRONG, "10 bits of fraction"),
        (
            "InFewerBits",
            Status.WRONG,
            "times as far from the right ones as eager float32's | an instance that it had never seen",
        ),
        ("InFloat16", Status.WRONG, ""),
        ("InBfloat16", Status.WRONG, ""),
        ("KnowsWhatItWasChecked", Status.WRONG, "an instance that it had never seen: instance 0"),
        ("PatchesSession", Status.WRONG, "times as long as its samples tell, every time"),
        ("Raises", Status.FAILED, "ValueError: no such thing"),
        ("Crashes", Status.FAILED, "SIGSEGV"),
        ("RaisesMute", Status.FAILED, "Mute (its text cannot be made)"),
        ("Exits", Status.FAILED, "ended with code 0"),
        ("ExitsPolitely", Status.FAILED, "SystemExit: 0"),
        ("KillsItself", Status.FAILED, "SIGKILL"),
        ("SharesMemory", Status.OOM, "its limit is 1.0 GiB"),
        ("FillsTheHandover", Status.OOM, "its limit is 1.0 GiB"),
        ("ExhaustsMemory", Status.OOM, "allocate"),
        ("ExhaustsInChildren", Status.OOM, "its limit is 1.0 GiB"),
        ("AbortsForMemory", Status.OOM, "SIGABRT"),
        ("refuses", Status.UNSUPPORTED, "only square things"),
        ("missing", Status.UNAVAILABLE, "not installed"),
        ("ClosesPipes", Status.FAILED, "SIGKILL"),
        ("UnsupportedTimed", Status.FAILED, "Unsupported: not today"),
        ("CannotAllocateName", Status.FAILED, "cannot allocate a name"),
    ],
)
def test_status(how: str, status: Status, why: str | None, tmp_path: Path) -> None:
    row = bench.run(cell(how), QUICK, STRICT, tmp_path, stored=True)
    assert row["status"] == status, row["why"]
    assert why is None or any(each in row["why"] for each in why.split(" | ")), row["why"]
    assert (tmp_path / row["log"]).is_file()
    (line,) = (tmp_path / row["machine"] / "cells.jsonl").read_text().splitlines()
    assert json.loads(line) == row
    if status == Status.OK:
        assert row["verified"]["n"] == 12
        assert len(set(row["sample_round"])) >= QUICK.min_rounds


@pytest.mark.parametrize("how", ["Hangs", "HangsTimed", "StopsItself", "IgnoresTermination", "FloodsErrors"])
def test_a_hang_ends_at_its_deadline(how: str, tmp_path: Path) -> None:
    started = tmp_path / "started"
    row = bench.run(cell(how, note=str(started)), QUICK, Isolate(deadline_s=4.0), tmp_path)
    assert row["status"] == Status.TIMEOUT
    assert "deadline of 4 s" in row["why"]
    assert (tmp_path / row["log"]).stat().st_size < 150 << 20
    if how == "Hangs":
        for pid in started.read_text().split():
            assert _ended(int(pid)), "the deadline must end everything that the cell started"


def test_what_a_backend_prints_is_in_its_log(tmp_path: Path) -> None:
    row = bench.run(cell("Prints"), QUICK, STRICT, tmp_path)
    assert '"why": "printed"' in (tmp_path / row["log"]).read_text()


@pytest.mark.parametrize("how", ["Detaches", "DetachesAndDies", "DetachesAsAnOrphan"])
def test_what_a_cell_leaves_running_is_ended(how: str, tmp_path: Path) -> None:
    started = tmp_path / "started"
    row = bench.run(cell(how, note=str(started)), QUICK, STRICT, tmp_path)
    assert _ended(int(started.read_text())), "also out of its session, its tree and its environment"
    if how != "DetachesAndDies":
        where = {"Detaches": "in a session of their own", "DetachesAsAnOrphan": "outside of its tree"}[how]
        assert row["status"] == Status.OK, row["why"]
        assert f"left 1 process behind {where} (sleep): ended" in row["flags"], row["flags"]


def test_what_any_of_several_cells_left_outside_of_its_tree_is_told_of_all(tmp_path: Path) -> None:
    """Nobody can know whose it was; whose turn or end comes first makes no difference. In the next session nothing is told."""
    detaches = cell("DetachesAsAnOrphan", note=str(tmp_path / "started"))
    for row in bench.run([cell("Works"), detaches, cell("Applied")], QUICK, STRICT, tmp_path):
        flag = "left 1 process behind outside of its tree, unless another cell of its session did (sleep): ended"
        assert flag in row["flags"], row["flags"]
    assert accusing(bench.run(cell("Works"), QUICK, STRICT, tmp_path)) == []


@pytest.mark.parametrize(
    ("how", "which"),
    [
        ("RemembersContent", "first"),
        ("RemembersIdentity", "first"),
        ("AsksAnother", "first"),
        ("WorksInGc", "first"),
        ("AnswersWhereDrawn", "drawn"),
        ("AnswersWherePlaced", "drawn"),
        ("AsksAnotherWherePlaced", "drawn"),
        ("Applied", ""),
        ("Works", ""),
    ],
)
def test_answers_that_were_not_made_while_the_clock_ran(how: str, which: str, tmp_path: Path) -> None:
    row = bench.run(cell(how), QUICK, STRICT, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    found = [flag for flag in row["flags"] if "had never seen" in flag]
    assert bool(found) == bool(which), (row["flags"], row["fresh"])
    assert not which or row["fresh"][f"ratio_{which}"] > 4


@pytest.mark.parametrize(
    ("how", "which"), [("LazyForOne", "samples of mini-batch 0"), ("LazyAfterAPause", "6 of 6 first runs of turns")]
)
def test_work_that_is_put_off_in_few_runs_which_decide_a_number(how: str, which: str, tmp_path: Path) -> None:
    """Too few to show among all: those of one mini-batch of five, and those from which the latency after a pause is."""
    measure = replace(QUICK, minibatches=5, turn_s=0.03, min_rounds=6, max_rounds=6)
    row = bench.run(cell(how), measure, STRICT, tmp_path)
    assert row["status"] == Status.WRONG
    assert "not complete when run() returned" in row["why"] and row["why"].endswith(which), row["why"]


@pytest.mark.parametrize(("how", "told"), [("PatchesTurn", False), ("Works", True), ("Applied", True)])
def test_turns_take_as_long_as_is_told_of_them(how: str, told: bool, tmp_path: Path) -> None:
    row = bench.run(cell(how), replace(QUICK, turn_s=0.05), STRICT, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    found = [flag for flag in row["flags"] if flag.startswith("its turns took ")]
    assert bool(found) is not told, row["flags"]
    assert accusing(row) == found


def test_work_between_runs_is_missing_where_nothing_is_between_them(tmp_path: Path) -> None:
    row = bench.run(cell("WorksInCountersLittle"), QUICK, STRICT, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    found = [flag for flag in row["flags"] if flag.startswith("runs with nothing between them took")]
    assert found, (row["flags"], row["elapsed"])


@pytest.mark.parametrize(
    ("how", "status"), [("AnswersAtFirst", Status.WRONG), ("RemembersContent", Status.OK), ("Works", Status.OK)]
)
@pytest.mark.parametrize("batch_size", [4, 8])
def test_samples_that_are_beyond_doubt_not_those_of_the_work(how: str, status: Status, batch_size: int, tmp_path: Path) -> None:
    row = bench.run(cell(how, batch_size=batch_size), QUICK, STRICT, tmp_path)
    assert row["status"] == status, row["why"]
    assert row["why"] is None or "never seen took at least" in row["why"]


def test_work_that_is_done_by_placing_instances(tmp_path: Path) -> None:
    given = tmp_path / "given"
    row = bench.run(cell("AnswersInPlace", note=str(given)), QUICK, STRICT, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    assert [flag for flag in row["flags"] if "place() took" in flag and "where a copy takes" in flag], row["flags"]
    assert given.exists()


def test_instances_without_tensors_are_not_placed(tmp_path: Path) -> None:
    given = tmp_path / "given"
    plain = replace(cell("AnswersInPlace", note=str(given)), workload=Part("counts", f"{FAKES}.Counts", {"data": None}))
    row = bench.run(plain, QUICK, STRICT, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    assert row["verified"]["n"] == 12
    assert row["cold"]["place_s"] == 0
    assert not given.exists()


@pytest.mark.parametrize("how", ["Works", "PatchesClock"])
def test_a_clock_is_read_where_it_was_when_the_harness_was_imported(how: str, tmp_path: Path) -> None:
    """Each run uses `WORK_S` of processor time, so no sample of a correct clock is much shorter."""
    row = bench.run(cell(how), QUICK, STRICT, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    assert min(row["samples_s"]) > 0.9 * WORK_S
    assert row["elapsed"]["told_s"] > row["elapsed"]["runs"] * 0.9 * WORK_S


def test_the_answers_are_out_of_reach(tmp_path: Path) -> None:
    """A backend's process has no answers in its memory, and does not know the folder in which they are stored."""
    found = tmp_path / "found"
    row = bench.run(cell("FindsAnswers", note=str(found)), QUICK, STRICT, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    assert found.read_text() == "0 0"


def test_the_files_of_the_answers_are_not_there_while_cells_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, said = tmp_path / "cache", tmp_path / "said"
    monkeypatch.setenv("BENCH_CACHE", str(cache))
    for _ in "ab":  # when the second session begins, the files of the first one are there
        row = bench.run(cell("ReadsAnswers", note=f"{cache}|{said}"), QUICK, STRICT, tmp_path)
        assert row["status"] == Status.OK, row["why"]
        assert len(list(cache.rglob("*.npz"))) == 2
    assert set(said.read_text().split()) == {"0"}


def test_less_than_float32_as_a_backend_says_itself_is_a_flag(tmp_path: Path) -> None:
    row = bench.run(cell("InFewerBitsAsSaid"), QUICK, STRICT, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    assert [flag for flag in row["flags"] if flag.endswith("as eager float32's: computed in 17 bits")], row["flags"]


@pytest.mark.parametrize(("how", "flagged"), [("RemembersContent", True), ("Works", False)])
def test_the_instances_of_a_data_file_are_not_those_that_nobody_has_seen(how: str, flagged: bool, tmp_path: Path) -> None:
    data = tmp_path / "data.txt"
    data.write_text(" ".join(map(str, range(12))))
    reading = replace(cell(how), workload=Part("fromfile", f"{FAKES}.FromFile", {"data": str(data)}))
    row = bench.run(reading, QUICK, STRICT, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    assert bool([flag for flag in row["flags"] if "had never seen" in flag]) is flagged, row["flags"]
    assert row["fresh"]["verified"] == 12


def test_a_log_fills_no_disk(tmp_path: Path) -> None:
    row = bench.run(cell("Floods"), QUICK, STRICT, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    assert (tmp_path / row["log"]).stat().st_size < 150 << 20
    assert b"was dropped by the harness" in (tmp_path / row["log"]).read_bytes()


def test_a_reason_is_one_clean_line(tmp_path: Path) -> None:
    row = bench.run(cell("Rude"), QUICK, STRICT, tmp_path)
    assert row["status"] == Status.FAILED
    assert row["why"].startswith("ValueError: red [bold] bell xxx")
    assert len(row["why"]) < 400


def _ended(pid: int) -> bool:
    """Whether a process has ended, or does so within ten seconds: a killed process takes a moment to end."""
    for _ in range(200):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False
