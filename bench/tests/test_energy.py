"""Energy counters of the processor, as files."""

from __future__ import annotations

from pathlib import Path

from bench import energy
from bench.energy import Rapl


def package(folder: Path, name: str, microjoules: int, most: int = 1_000_000_000) -> Path:
    path = folder / name
    path.mkdir(exist_ok=True)
    (path / "energy_uj").write_text(f"{microjoules}\n")
    (path / "max_energy_range_uj").write_text(f"{most}\n")
    return path


def test_the_packages_are_added_and_parts_of_them_are_not(tmp_path: Path) -> None:
    package(tmp_path, "intel-rapl:0", 5_000_000)
    package(tmp_path, "intel-rapl:1", 7_000_000)
    package(tmp_path, "intel-rapl:0:0", 3_000_000)
    found = Rapl.find(tmp_path)
    assert found is not None and found.joules() == 0.0
    package(tmp_path, "intel-rapl:0", 6_500_000)
    package(tmp_path, "intel-rapl:1", 7_250_000)
    package(tmp_path, "intel-rapl:0:0", 9_000_000)
    assert found.joules() == 1.75


def test_a_full_counter_begins_anew(tmp_path: Path) -> None:
    package(tmp_path, "intel-rapl:0", 900, most=999)
    found = Rapl.find(tmp_path)
    assert found is not None
    package(tmp_path, "intel-rapl:0", 100, most=999)
    assert found.joules() == 200 / 1e6


def test_there_is_none_where_it_cannot_be_read(tmp_path: Path) -> None:
    assert Rapl.find(tmp_path) is None
    package(tmp_path, "intel-rapl:0", 1)
    (tmp_path / "intel-rapl:0" / "energy_uj").write_text("")
    assert Rapl.find(tmp_path) is None
    assert energy.find("cuda", None) is None
