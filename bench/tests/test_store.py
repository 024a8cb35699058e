"""The store keeps every whole row, whatever happened to the process that wrote the last one."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.campaign import wanted
from bench.store import Store


def row(name: str, **fields: object) -> dict[str, object]:
    return {"id": name, "source": "s", "status": "ok", **fields}


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
    latest = {"status": status, "source": "same"}
    assert {r for r in ("none", "stale", "failed", "all") if wanted(latest, source, r)} == again
