"""The store keeps every whole row, whatever happened to the process that wrote the last one; which rows are measured again."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.campaign import to_be_measured
from bench.store import Store


def row(name: str, **fields: object) -> dict[str, object]:
    return {"id": name, "source": "s", "status": "ok", **fields}


@settings(deadline=None)
@given(cut=st.integers(min_value=0, max_value=200))
def test_a_torn_last_line_costs_nothing_else(cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    store = Store(tmp_path_factory.mktemp("store"), "machine")
    store.append(row("a"))
    whole = store.path.stat().st_size
    store.append(row("b", samples_s=[0.25] * 20))
    with store.path.open("rb+") as file:
        file.truncate(min(whole + cut, store.path.stat().st_size))
    store.append(row("c"))
    names = [each["id"] for each in Store(store.results, "machine")]
    assert names in (["a", "c"], ["a", "b", "c"])
    assert all(line == "" or line.startswith("{") for line in store.path.read_text().split("\n"))


@pytest.mark.parametrize("line", ["[" * 200_000, "7", '{"id": 1}', "\x00"])
def test_what_another_program_wrote_is_skipped(line: str, tmp_path: Path) -> None:
    store = Store(tmp_path, "machine")
    store.folder.mkdir()
    store.path.write_text(f'{line}\n{{"id":"a"}}\n')
    assert store.latest("a") == {"id": "a"}


def test_a_full_disk_is_noticed_when_the_store_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(OSError, match="No space left"):
        Store(tmp_path, "machine").open()


def test_the_newest_row_of_a_cell_counts(tmp_path: Path) -> None:
    store = Store(tmp_path, "machine")
    store.append(row("a", status="failed"))
    store.append(row("a"))
    for found in (store.latest("a"), Store(tmp_path, "machine").latest("a")):
        assert found is not None
        assert found["status"] == "ok"
    assert store.latest("b") is None
    assert len(list(store)) == 2


def test_rows_written_at_once_stay_whole(tmp_path: Path) -> None:
    def write(i: int) -> None:
        Store(tmp_path, "machine").append(row(str(i), samples_s=[i] * 5000))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(64)))
    assert sorted(int(each["id"]) for each in Store(tmp_path, "machine")) == list(range(64))


def test_not_a_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        Store(tmp_path, "machine").append(row("a", samples_s=[float("nan")]))


def test_machine_file_keeps_every_environment(tmp_path: Path) -> None:
    store = Store(tmp_path, "machine")
    for environment in ("e1", "e2", "e1"):
        store.describe_machine({"cpu": "x"}, environment, {"python": environment})
    known = json.loads((tmp_path / "machine" / "machine.json").read_text())
    assert known["hardware"] == {"cpu": "x"}
    assert set(known["environments"]) == {"e1", "e2"}


@pytest.mark.parametrize(
    ("status", "source", "again"),
    [
        ("ok", "same", {"all"}),
        ("ok", "other", {"stale", "failed", "all"}),
        ("unsupported", "same", {"all"}),
        ("failed", "same", {"failed", "all"}),
        ("timeout", "same", {"failed", "all"}),
        ("failed", "other", {"stale", "failed", "all"}),
        ("unavailable", "same", {"stale", "failed", "all"}),
    ],
)
def test_what_is_measured_again(status: str, source: str, again: set[str]) -> None:
    latest = {"status": status, "source": "same", "again": False}
    changed = [] if source == "same" else ["sources"]
    assert {r for r in ("none", "stale", "failed", "all") if to_be_measured(latest, changed, r)} == again


@pytest.mark.parametrize("status", ["failed", "timeout", "oom"])
def test_failures_are_repeated_under_more_generous_limits(status: str) -> None:
    latest = {"status": status, "again": False}
    assert [to_be_measured(latest, [], rerun, roomier=True) for rerun in ("none", "stale")] == [False, True]
    assert not to_be_measured({**latest, "status": "ok"}, [], "stale", roomier=True)


def test_what_came_from_outside_is_repeated() -> None:
    assert to_be_measured({"status": "failed", "again": True}, [], "stale")
    assert not to_be_measured({"status": "failed", "again": True}, [], "none")


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"environments": 3}', "\x00\x01"])
def test_a_damaged_machine_file_is_set_aside(damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(tmp_path, "machine")
    store.open()
    path = tmp_path / "machine" / "machine.json"
    path.write_text(damage)
    store.describe_machine({"cpu": "x"}, "e1", {})
    assert json.loads(path.read_text()) == {"hardware": {"cpu": "x"}, "environments": {"e1": {}}}
    (aside,) = path.parent.glob("machine.damaged-*.json")
    assert aside.read_text() == damage
    assert aside.name in capsys.readouterr().err


def test_rows_find_the_room_that_was_reserved_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs have filled the disk while cells were measured."""
    store = Store(tmp_path, "machine")
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if store._reserve is not None:
            raise OSError(28, "No space left on device")
        return write(descriptor, data)

    store.open()
    assert [path.name for path in store.folder.iterdir()] == ["cells.jsonl"]
    monkeypatch.setattr(os, "write", full)
    store.append({"id": "a"})
    assert [row["id"] for row in Store(tmp_path, "machine")] == ["a"]


def test_a_row_that_could_not_be_written_whole_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first write fails in its middle, as on a full disk."""
    store = Store(tmp_path, "machine")
    store.append(row("a"))
    write = os.write
    room = [1]

    def full(descriptor: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        room[0] = 0
        return write(descriptor, data[:10])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        store.append(row("b"))
    monkeypatch.undo()
    assert store.latest("b") is None
    store.append(row("c"))
    assert store.path.read_text().count("\n") == 2
    assert [each["id"] for each in store] == ["a", "c"]


def test_a_store_that_cannot_be_written_to_is_found_at_once(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    with pytest.raises(OSError, match="results"):
        Store(tmp_path / "results", "machine").open()


def test_lines_whose_id_is_no_text_are_skipped(tmp_path: Path) -> None:
    store = Store(tmp_path, "machine")
    store.open()
    store.path.write_text('{"id":[1]}\n{"id":null}\n{"id":{"a":1}}\n{"id":"a"}\n')
    assert store.latest("a") == {"id": "a"}
