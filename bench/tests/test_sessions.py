"""Which stored rows are used: those of one session, measured under the present settings."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bench
from bench.compose import compose
from bench.config import Measure, preset
from bench.options import ConfigError
from bench.sessions import rivals, together, usable
from bench.tests.conftest import STRICT, cell

Bench = Callable[..., "subprocess.CompletedProcess[str]"]
KEPT = ("measure=quick", "measure.stored=true", "measure.budget_s=0.05")


def stored(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in folder.glob("results/*/cells.jsonl") for line in path.read_text().splitlines()]


def ok(session: str) -> dict[str, Any]:
    return {"status": "ok", "session": session}


@pytest.mark.parametrize(
    ("standing", "todo", "known", "rerun", "again"),
    [
        ({"a": ok("1"), "b": ok("1")}, [], {}, "stale", set()),
        ({"a": ok("1"), "b": ok("1")}, ["c"], {}, "stale", {"a", "b"}),
        ({"a": ok("1"), "b": ok("1")}, ["c"], {"c": ok("1")}, "failed", {"a", "b"}),
        ({"a": ok("1"), "b": ok("1")}, ["c"], {}, "apart", set()),
        ({"a": ok("1"), "b": ok("1")}, ["c"], {}, "none", set()),
        ({"a": ok("1"), "b": ok("2")}, [], {}, "stale", {"a", "b"}),
        ({"a": ok("1"), "b": ok("2")}, [], {}, "apart", set()),
        ({"a": ok("1"), "b": {"status": "failed", "session": "2"}}, ["c"], {}, "stale", {"a"}),
        ({"a": ok("1")}, ["c"], {"c": {"status": "unavailable", "session": "1"}}, "stale", set()),
        ({"a": ok("1")}, ["c"], {"c": {"status": "unavailable", "session": "1", "again": True}}, "stale", {"a"}),
    ],
)
def test_rivals_are_measured_again(standing: Any, todo: list[str], known: Any, rerun: str, again: set[str]) -> None:
    assert rivals(standing, todo, known, rerun) == again


def test_a_group_stands_on_a_session_that_has_all_of_it() -> None:
    a1, a2, a3, b1, b3, failed = ({**ok(s), "started": s} for s in ("1", "2", "3", "1", "3", "4"))
    failed["status"] = "failed"
    assert together({"a": [a1, a2], "b": [b1]}) == {"a": a1, "b": b1}, "the newest row of a is of another group"
    assert together({"a": [a1, a3], "b": [b1, b3]}) == {"a": a3, "b": b3}, "the newest of two"
    assert together({"a": [a1, a2], "b": [b1, failed]}) == {"a": a2, "b": failed}, "what has failed is not waited for"
    assert together({"a": [a2], "b": [b1]}) == {"a": a2, "b": b1}, "never together"
    assert together({"a": [], "b": [b1]}) == {"b": b1}


def test_groups_that_share_a_cell_do_not_undo_each_other(bench: Bench, tmp_path: Path) -> None:
    """Of two groups with a cell in common, each is finished after a session of its own."""
    bench("backend=[honest,cheat]", *KEPT)
    bench("backend=[honest]", *KEPT, "rerun=all")
    count = len(stored(tmp_path))
    again = bench("backend=[honest,cheat]", *KEPT)
    assert "2 finished earlier" in again.stderr and len(stored(tmp_path)) == count == 3


def test_a_group_is_finished_when_one_session_has_measured_it(bench: Bench, tmp_path: Path) -> None:
    bench("backend=[honest]", *KEPT)
    bench("backend=[honest,cheat]", *KEPT)
    found = stored(tmp_path)
    assert Counter(row["backend"] for row in found) == {"honest": 2, "cheat": 1}, "the one measured alone is measured again"
    assert len({row["session"] for row in found[1:]}) == 1
    again = bench("backend=[honest,cheat]", *KEPT)
    assert "2 finished earlier" in again.stderr
    assert len(stored(tmp_path)) == 3


def test_apart_leaves_rivals_alone_and_the_ratio_says_so(bench: Bench, tmp_path: Path) -> None:
    bench("backend=[honest]", *KEPT)
    done = bench("backend=[honest,cheat]", *KEPT, "rerun=apart")
    assert len(stored(tmp_path)) == 2
    assert "were not measured together" in done.stdout.replace("\n", " ")
    assert "just now" in done.stdout


def test_rows_of_other_settings_are_not_taken_for_these(bench: Bench, tmp_path: Path) -> None:
    for budget in ("0.05", "0.06", "0.06"):
        bench("backend=[honest]", "measure=quick", "measure.stored=true", f"measure.budget_s={budget}")
    found = stored(tmp_path)
    assert [row["measure"] for row in found] == ["quick*", "quick*"]
    assert [row["measure_settings"]["budget_s"] for row in found] == [0.05, 0.06]


def test_overridden_settings_change_the_name() -> None:
    usual, other = compose(["backend=[pytorch]"]).measure, compose(["backend=[pytorch]", "measure.max_rounds=7"]).measure
    assert usual.named().name == "default"
    assert other.named().name == "default*"
    assert compose(["backend=[pytorch]", "measure.stored=false"]).measure.named().name == "default"
    assert usable({"measure_settings": json.loads(json.dumps(usual.settings()))}, usual.settings())
    assert not usable({"measure_settings": usual.settings()}, other.settings())
    assert not usable({}, usual.settings())


def test_defaults_of_the_schema_are_those_of_the_file() -> None:
    assert preset("default") == Measure()


def test_from_python_a_row_names_the_settings_that_were_used(tmp_path: Path) -> None:
    few = Measure(name="quick", minibatches=2, turn_s=0.001, timed_passes=1, min_rounds=2, max_rounds=2, warm_s=0.0)
    row = bench.run(cell(), few, STRICT, tmp_path)
    assert (row["measure"], row["minibatches"]) == ("quick*", 2)
    assert row["measure_settings"] == few.settings()
    unnamed = bench.run(replace(cell(), measure="quick"), isolate=STRICT, results=tmp_path)
    assert (unnamed["measure"], unnamed["measure_settings"]) == ("quick", preset("quick").settings())
    with pytest.raises(ConfigError, match=r"quick\*"):
        bench.run(replace(cell(), measure="quick*"), isolate=STRICT, results=tmp_path)
