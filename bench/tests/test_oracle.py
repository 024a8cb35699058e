"""The oracle's answers are stored, checked, and computed again if damaged; a failing oracle is not the backend's fault."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

import bench
from bench.cell import Part
from bench.status import Status
from bench.tests.conftest import QUICK, STRICT, cell


def answers(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.npz"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path / "cache"


def test_damaged_answers_are_computed_again(cache: Path, tmp_path: Path) -> None:
    assert bench.run(cell(), QUICK, STRICT, tmp_path)["status"] == Status.OK
    kept = {path: path.read_bytes() for path in answers(cache)}
    assert len(kept) == 2
    first, second = kept
    first.write_bytes(kept[first][:-20])
    second.write_bytes(bytes([kept[second][0]]) + b"x" + kept[second][2:])
    row = bench.run(cell(), QUICK, STRICT, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    assert {path: path.read_bytes() for path in answers(cache)} == kept


def test_a_cache_that_cannot_be_written_to_falls_back(cache: Path, tmp_path: Path) -> None:
    cache.write_text("a file where the folder should be")
    row = bench.run(cell(), QUICK, STRICT, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    assert len(answers(tmp_path / "temporary")) == 2


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_read_only_cache_is_read(cache: Path, tmp_path: Path) -> None:
    bench.run(cell(), QUICK, STRICT, tmp_path)
    for folder in (cache, *(path for path in cache.rglob("*") if path.is_dir())):
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert bench.run(cell(), QUICK, STRICT, tmp_path)["status"] == Status.OK
    assert not answers(tmp_path / "temporary")


def test_a_failing_oracle_is_not_the_backends_fault(cache: Path, tmp_path: Path) -> None:
    broken = replace(cell(), workload=Part("toy", "bench.tests.faults.NoAnswers", {"data": None}))
    row = bench.run(broken, QUICK, STRICT, tmp_path)
    assert row["status"] == Status.UNVERIFIED
    assert row["why"] == "no oracle: failed: RuntimeError: this model cannot be evaluated"
    assert row["again"], "the next command tries again"
