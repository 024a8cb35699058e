"""The probe of the processor's peak."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bench import peak


@pytest.mark.skipif(not (shutil.which("gcc") or shutil.which("cc")), reason="there is no C compiler")
def test_the_peak_is_that_of_vectors_and_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is plausible: any core does at least one operation in a nanosecond, and none does 2000."""
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    found = peak.measure(1)
    assert found is not None and 1 < found["gflops"] < 2000 and found["threads"] == 1
    (built,) = tmp_path.glob("peak-*.so")
    before = built.stat().st_mtime_ns
    assert peak.measure(1) is not None and built.stat().st_mtime_ns == before


@pytest.mark.skipif(not (shutil.which("gcc") or shutil.which("cc")), reason="there is no C compiler")
@pytest.mark.parametrize("damage", [b"", b"\x7fELF"])
def test_a_damaged_probe_is_built_again(damage: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    assert peak.measure(1) is not None
    (built,) = tmp_path.glob("peak-*.so")
    whole = built.read_bytes()
    built.unlink()  # the process has it in memory: overwriting it would change what runs
    built.write_bytes(damage + whole[len(damage) : 1000])
    assert peak.measure(1) is not None
    assert [path.read_bytes() for path in tmp_path.glob("peak-*.so")] == [whole]


@pytest.mark.skipif(not (shutil.which("gcc") or shutil.which("cc")), reason="there is no C compiler")
def test_a_cache_that_cannot_be_written_to_falls_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    assert peak.measure(1) is not None
    assert len(list((tmp_path / "temporary").rglob("peak-*.so"))) == 1


@pytest.mark.skipif(not (shutil.which("gcc") or shutil.which("cc")), reason="there is no C compiler")
@pytest.mark.parametrize("target", ["-march=x86-64-v3", "-march=x86-64-v4"])
def test_its_sums_stay_in_registers(target: str) -> None:
    """Each round is a multiply-add for each sum, and none of them reads or writes memory."""
    compiler = shutil.which("gcc") or str(shutil.which("cc"))
    flags = [target if flag == "-march=native" else flag for flag in peak.FLAGS if flag != "-shared"]
    command = [compiler, "-x", "c", *flags, "-S", "-o", "-", str(peak.SOURCE)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rounds = [line for line in lines if "fmadd" in line]
    assert len(rounds) >= 12
    assert not [line for line in rounds if "(" in line]


def test_without_a_compiler_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert peak.measure(1) is None
