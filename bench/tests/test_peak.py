"""The probe of the processor's peak."""

from __future__ import annotations

import shutil
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


def test_without_a_compiler_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert peak.measure(1) is None
