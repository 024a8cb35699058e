"""Measurements on disk: what is written can be read, corrupt files are ignored, and what a file's name depends on."""

from __future__ import annotations

import errno
import json
import os
import warnings
from pathlib import Path

import pytest

from backends.acrobat.core.cache_files import write
from backends.acrobat.core.units import Mode
from backends.acrobat.kernels.cpu.schedule import KernelSchedule
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.kernels.cpu.tests.test_gemm import plain
from backends.acrobat.tuning import cache
from backends.acrobat.tuning.cache import Measurements, path_for
from backends.acrobat.tuning.search import Timing

SCHEDULE = KernelSchedule("gemm", 6, 2, 4, 252, (4, 3, 2, 1), "rows", 8)


def kept(path: Path) -> Measurements:
    m = Measurements(path)
    m.baseline = {8: 1.5e-6, 64: 1e-5}
    m.timings = {SCHEDULE: {8: Timing(1.5e-6, 0.75)}, KernelSchedule("product", 8, dots=True): {}}
    m.write()
    return m


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "tuning" / "k.json"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before, after = kept(path), Measurements(path)
    assert (after.baseline, after.timings) == (before.baseline, before.timings)
    assert [p.name for p in path.parent.iterdir()] == ["k.json"], "no scratch is left"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"format": 1, "baseline": {"x": 1}, "schedules": []}',
        '{"format": 1, "baseline": {}, "schedules": [7]}',
    ],
)
def test_a_corrupt_file_is_ignored_with_a_warning_that_names_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "k.json"
    path.write_text(text)
    with pytest.warns(UserWarning, match=str(path)):
        m = Measurements(path)
    assert m.baseline == {} and m.timings == {}
    m.timings = {SCHEDULE: {8: Timing(1.0, 0.5)}}
    m.write()
    assert SCHEDULE in Measurements(path).timings, "and is written anew"


def test_a_schedule_with_other_fields_is_no_schedule(tmp_path: Path) -> None:
    path = tmp_path / "k.json"
    kept(path)
    stored = json.loads(path.read_text())
    stored["schedules"][0]["schedule"]["colour"] = 1
    path.write_text(json.dumps(stored))
    with pytest.warns(UserWarning, match="measured again"):
        assert Measurements(path).timings == {}


def test_another_format_is_as_none(tmp_path: Path) -> None:
    path = tmp_path / "k.json"
    kept(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 0}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Measurements(path).timings == {}


def test_where_nothing_can_be_written_there_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="cannot be"):
        kept(tmp_path / "file" / "k.json")


def test_what_cannot_be_written_whole_leaves_no_scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space is left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(UserWarning, match="cannot be kept in .*no space is left"):
        kept(tmp_path / "k.json")
    write(tmp_path / "other", ({}, b""))
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_for_one_kernel_target_template_and_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = CpuTarget("x86-64-v4", 16)
    start = KernelSchedule("gemm")

    def paths() -> list[Path]:
        return [
            path_for(tmp_path, plain(9, 20), Mode.GATHERED, wide, start),
            path_for(tmp_path, plain(9, 21), Mode.GATHERED, wide, start),
            path_for(tmp_path, plain(9, 20), Mode.CONTIGUOUS, wide, start),
            path_for(tmp_path, plain(9, 20), Mode.GATHERED, CpuTarget("x86-64-v3", 8), start),
            path_for(tmp_path, plain(9, 20), Mode.GATHERED, wide, KernelSchedule("gemm", 2)),
        ]

    found = paths()
    assert paths() == found
    monkeypatch.setattr(cache, "processor", lambda: "another one")
    found += paths()
    monkeypatch.setattr(cache, "sources_hash", lambda: "others")
    assert len({*found, *paths()}) == 15
