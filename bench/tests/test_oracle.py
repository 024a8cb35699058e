"""The oracle's answers are stored, checked, and computed again if damaged; a failing oracle is not the backend's fault."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

import bench
from bench.cell import Part
from bench.oracle import Oracle
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
    (first.parent / "of-another-program.npz").touch()
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


def test_answers_that_cannot_be_removed_are_used(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a cache that is read-only, also for a user who may write everywhere."""

    def refuse(*arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    bench.run(cell(), QUICK, STRICT, tmp_path)
    kept = answers(cache)
    monkeypatch.setattr(Oracle, "_compute", refuse)
    unlink = Path.unlink
    monkeypatch.setattr(Path, "unlink", lambda self, *a, **n: refuse() if self in kept else unlink(self, *a, **n))
    row = bench.run(cell(), QUICK, STRICT, tmp_path)
    assert row["status"] == Status.OK, row["why"]
    assert answers(cache) == kept and not answers(tmp_path / "temporary")


@pytest.mark.parametrize("changed", ["torch", "the oracle"])
def test_answers_of_another_torch_or_oracle_are_not_used(changed: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def folder() -> Path:
        return Oracle(cell(), lambda: pytest.fail("nothing is computed")).folders[0]

    before = folder()
    assert folder() == before
    if changed == "torch":
        monkeypatch.setattr("bench.oracle.version", lambda package: "9.9")
    else:
        monkeypatch.setattr("bench.sources.oracle_files", lambda: [Path(__file__)])
    assert folder() != before


def test_without_any_room_answers_are_computed_each_time(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bench.files.tempfile.mkstemp", full)
    monkeypatch.setattr("bench.cache.tempfile.gettempdir", full)
    for _ in range(2):
        assert bench.run(cell(), QUICK, STRICT, tmp_path)["status"] == Status.OK
    assert not answers(cache)


def test_a_failing_oracle_is_not_the_backends_fault(cache: Path, tmp_path: Path) -> None:
    broken = replace(cell(), workload=Part("toy", "bench.tests.faults.NoAnswers", {"data": None}))
    row = bench.run(broken, QUICK, STRICT, tmp_path)
    assert row["status"] == Status.UNVERIFIED, row["why"]
    assert row["why"] == "no oracle: failed: RuntimeError: this model cannot be evaluated"
    assert row["again"], "the next command tries again"
