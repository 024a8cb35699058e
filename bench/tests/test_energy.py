"""Energy counters of the processor (made-up files of RAPL) and of a GPU (a fake of NVML)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import api, energy, monitor
from bench.energy import Rapl
from bench.machine import Gpu
from bench.tests.conftest import QUICK, STRICT, cell


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


class FakeNvml:
    """The part of NVIDIA's management library that is used, for a device that spends 25 joules between two readings."""

    NVML_CLOCK_SM, NVML_TEMPERATURE_GPU = 1, 0
    nvmlClocksEventReasonSwPowerCap = 4

    class NVMLError(Exception):
        pass

    def __init__(self, without_temperature: bool = False) -> None:
        self.millijoules = 1_000_000
        self.without_temperature = without_temperature

    def nvmlDeviceGetName(self, handle: str) -> str:
        return "NVIDIA H0"

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> SimpleNamespace:
        return SimpleNamespace(total=141 << 30)

    def nvmlSystemGetDriverVersion(self) -> str:
        return "580.1"

    def nvmlDeviceGetClockInfo(self, handle: str, which: int) -> int:
        return 1980

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: str) -> int:
        return 5

    def nvmlDeviceGetTemperature(self, handle: str, which: int) -> int:
        if self.without_temperature:
            raise self.NVMLError
        return 41

    def nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> list[SimpleNamespace]:
        return [SimpleNamespace(pid=7)]

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:
        self.millijoules += 25_000
        return self.millijoules


def test_a_gpu_tells_its_clock_and_its_energy() -> None:
    gpu = Gpu(FakeNvml(), "handle")
    assert (gpu.name, gpu.memory_gib, gpu.driver) == ("NVIDIA H0", 141, "580.1")
    assert gpu.observe() == {"sm_mhz": 1980, "throttled": 1, "gpu_celsius": 41} and gpu.processes() == {7}
    assert Gpu(FakeNvml(without_temperature=True), "handle").observe() == {"sm_mhz": 1980, "throttled": 1}
    meter = energy.find("cuda", gpu)
    assert meter is not None
    before, after = meter.joules(), meter.joules()
    assert before is not None and after is not None and after - before == 25.0


def test_the_row_of_a_cell_on_cuda_has_clocks_and_energy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake backend computes on the processor whatever its device; tested is what the harness adds to the row."""
    monkeypatch.setattr(Gpu, "find", lambda: Gpu(FakeNvml(), "handle"))
    monkeypatch.setattr(monitor, "WINDOW_S", 0.001)  # the rounds of a test are short
    row = api.run(replace(cell(), device="cuda"), QUICK, STRICT, tmp_path)
    assert row["status"] == "ok", row["why"]
    assert row["energy_j"] > 0 and row["energy_j"] % 25 == 0 and row["energy_instances"] > 0
    assert row["clocks"]["sm_mhz"] == [1980, 1980, 1980] and "the GPU throttled" in row["flags"]
