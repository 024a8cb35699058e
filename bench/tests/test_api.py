"""What the harness checks before it measures for a Python program."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import bench
from bench.config import Isolate, Measure
from bench.options import ConfigError
from bench.store import Store
from bench.template import Template
from bench.tests.conftest import QUICK, STRICT, cell


@pytest.mark.parametrize(
    ("measure", "isolate", "why"),
    [
        (Measure(minibatches=0), STRICT, "measure.minibatches=0"),
        (Measure(budget_s=float("nan")), STRICT, "measure.budget_s=nan"),
        (QUICK, Isolate(deadline_s=-1.0), "isolate.deadline_s=-1"),
        (QUICK, Isolate(cpus="4096"), "not processor 4096"),
    ],
)
def test_settings_out_of_range_are_refused(measure: Measure, isolate: Isolate, why: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=why):
        bench.run(cell(), measure, isolate, tmp_path)


def test_a_store_that_cannot_be_written_to_is_refused_before_anything_is_measured(
    tmp_path: Path, started: list[Template]
) -> None:
    (tmp_path / "results").write_text("a file")
    with pytest.raises(ConfigError, match="rows cannot be kept there"):
        bench.run(cell(), QUICK, STRICT, tmp_path / "results", stored=True)
    assert started == []
    bench.run(cell(), QUICK, STRICT, tmp_path / "others", stored=True)
    assert len(started) == 1, "elsewhere the same cell is begun"


def test_a_row_that_cannot_be_kept_is_returned_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(self: Store, row: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "append", full)
    row = bench.run(cell(), QUICK, STRICT, tmp_path, stored=True)
    assert row["status"] == "ok", row["why"]
    assert "No space left on device" in capsys.readouterr().err


def test_what_is_not_stored_leaves_nothing_where_the_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    for folder in (here, temporary):
        folder.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    row = bench.run(cell(), QUICK, STRICT)
    assert row["status"] == "ok", row["why"]
    assert not list(here.iterdir())
    assert not list(tmp_path.rglob("cells.jsonl"))


def test_a_run_leaves_the_process_that_measures_without_torch(tmp_path: Path) -> None:
    """The workload's model is a torch module; it is made in processes of its own, of cells and of the oracle."""
    code = (
        "import sys; from pathlib import Path; import bench; from bench.tests.conftest import QUICK, STRICT, cell; "
        "row = bench.run(cell(), QUICK, STRICT, Path(sys.argv[1])); "
        "print(row['status'], row['verified']['n'], 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["ok", "12", "False"], done.stderr
