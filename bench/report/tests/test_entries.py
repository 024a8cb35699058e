"""Which rows the report uses, and which of them it shows for a cell."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bench.cell import Cell, Part
from bench.report import entries, experiments
from bench.report.entries import OLDER, Entry, Results
from bench.report.frame import frame
from bench.report.tests import synthetic
from bench.report.tests.synthetic import row

WORKLOAD = Part("treelstm", "workloads.treelstm.spec.Spec", {"data": None})


def cell(name: str = "system", size: str = "small", batch_size: int = 8, **options: object) -> Cell:
    return Cell(WORKLOAD, Part(name, f"backends.{name}.backend.None", options), size, batch_size, minibatches=2)


def results(*rows: dict[str, object]) -> Results:
    return Results(Path("made-up"), [Entry(r) for r in rows])


def test_rows_of_an_older_format_are_counted_with_the_reason_and_break_nothing(tmp_path: Path) -> None:
    good = row(cell())
    old = {key: value for key, value in good.items() if key not in ("software", "session", "measure_settings", "sample_pass")}
    damaged = good | {"samples_s": ["x"] * len(good["samples_s"])}
    folder = synthetic.write(tmp_path / "m", [good, old, damaged, {"id": "1"}])
    with (folder / "cells.jsonl").open("a") as file:
        file.write('{"id": "torn')
    found = entries.load(folder)
    assert [entry.ref for entry in found.entries] == [entries.reference(good)]
    assert found.ignored == {OLDER: 2, entries.DAMAGED: 1}


def test_a_folder_without_rows_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"cells\.jsonl: no such file"):
        entries.load(tmp_path / "nothing")


def test_the_frame_has_a_line_for_each_row_with_its_statistics() -> None:
    made = [row(cell(a=1), 10.0), row(cell("other"), 5.0, status="oom")]
    found = frame([Entry(r) for r in made])
    assert isinstance(found, pd.DataFrame) and list(found["ref"]) == [entries.reference(r) for r in made]
    first, second = found.to_dict("records")
    assert first["latency_ms"] == pytest.approx(10.0, rel=0.03) and first["low_ms"] < first["latency_ms"] < first["high_ms"]
    assert first["kernel_ms"] == pytest.approx(7.0) and first["option.a"] == 1 and first["rounds"] == 8
    assert second["status"] == "oom" and pd.isna(second["latency_ms"]) and second["why"] == "made up: oom"


def test_an_option_that_came_later_does_not_make_a_row_useless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "defaults", lambda _: {"old": 1, "new": False})
    before, today = cell(old=1), cell(old=1, new=False)
    other = cell(old=1, new=True)
    assert entries.identity(before.canonical()) == entries.identity(today.canonical())
    assert entries.identity(before.canonical()) != entries.identity(other.canonical())


def test_a_group_stands_on_the_newest_session_that_has_most_of_it() -> None:
    a, b, c = cell("a"), cell("b"), cell("c")
    found = results(
        row(a, session="whole", seed=1), row(b, session="whole", seed=1), row(c, session="whole", seed=1),
        row(a, session="later", seed=2), row(b, session="later", seed=2),
    )  # fmt: skip
    assert [f.entry and f.entry.session for f in experiments.together([a, b, c], found)] == ["whole"] * 3
    assert [f.entry and f.entry.session for f in experiments.together([a, b], found)] == ["later"] * 2
    assert [f.entry and f.entry.session for f in experiments.together([a, cell("d")], found)] == ["later", None]


def test_a_cell_that_the_session_lacks_comes_from_another() -> None:
    a, b, c = cell("a"), cell("b"), cell("c")
    found = results(
        row(a, session="two"), row(b, session="two"), row(c, session="one"), row(c, session="one more", status="oom", seed=3)
    )
    chosen = {f.cell.backend.name: f.entry for f in experiments.together([a, b, c], found)}
    assert chosen["c"] is not None and chosen["c"].record["status"] == "oom", "the newest of those that are not of the session"
    assert chosen["a"] is not None and chosen["a"].session == "two"


def test_rows_under_other_settings_are_other_cells() -> None:
    a = cell("a")
    assert experiments.together([replace(a, measure="paper")], results(row(a)))[0].entry is None


def test_made_up_rows_are_rows() -> None:
    """The report accepts the rows of synthetic.py as rows of the harness."""
    assert entries.unusable(json.loads(json.dumps(row(cell())))) is None
    assert entries.unusable(row(cell(), status="unsupported")) is None


@pytest.mark.parametrize(
    "damage",
    [
        {"id": [1]},
        {"session": ["a"]},
        {"options": []},
        {"backend": ["a"]},
        {"samples_s": [-1.0, 1.0]},
        {"samples_s": [float("nan"), 1.0]},
        {"samples_s": [0.0, 1.0]},
        {"sample_round": [float("nan"), 1]},
        {"sample_minibatch": [0.5, 1]},
    ],
    ids=str,
)
def test_damaged_rows_are_not_used(damage: dict[str, Any]) -> None:
    sound = row(cell())
    columns = {key: [0] * 2 for key in ("sample_minibatch", "sample_round", "sample_pass")} | {"samples_s": [1.0, 1.0]}
    assert entries.unusable({**sound, **columns}) is None
    assert entries.unusable({**sound, **columns, **damage}) == entries.DAMAGED
