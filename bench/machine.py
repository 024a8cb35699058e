"""What the numbers were measured on: hardware, which names the results' folder, and software, which each record refers to."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from bench.software import version

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("backends", "bench", "conf", "workloads", "pyproject.toml")  # what the numbers of a row depend on


@cache
def hardware() -> dict[str, Any]:
    """The processor, memory and GPU of this machine, as rows have them."""
    cpu = _cpuinfo()
    description: dict[str, Any] = {
        "cpu": cpu.get("model name", platform.processor() or platform.machine()),
        "cpu_family_model_stepping": "/".join(cpu.get(key, "?") for key in ("cpu family", "model", "stepping")),
        "cores": psutil.cpu_count(logical=False) or os.cpu_count(),
        "threads": os.cpu_count(),
        "usable_threads": len(os.sched_getaffinity(0)),
        "cache": cpu.get("cache size", "?"),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "virtual": "hypervisor" in cpu.get("flags", "").split(),
        "flags": cpu.get("flags", ""),
    }
    gpu = Gpu.find()
    if gpu is not None:
        description["gpu"] = gpu.name
        description["gpu_memory_gib"] = gpu.memory_gib
    return description


@cache
def name() -> str:
    """A name for the folder of results, such as `amd-epyc-2c-1a2b3c`, which depends on the hardware alone."""
    description = hardware()
    words = re.sub(r"\(r\)|\(tm\)|cpu|processor|@.*", " ", f"{description['cpu']}".lower())
    gpu = re.sub(r"nvidia", " ", str(description.get("gpu", "")).lower())
    slug = "-".join(re.findall(r"[a-z0-9]+", words)) + f"-{description['usable_threads']}c"
    if gpu:
        slug += "-" + "-".join(re.findall(r"[a-z0-9]+", gpu))
    return f"{slug}-{_digest(description)[:6]}"


@cache
def environment() -> tuple[str, dict[str, Any]]:
    """A hash of the software environment, and its description: versions, clock governor, huge pages."""
    description: dict[str, Any] = {
        "kernel": platform.release(),
        "os": platform.platform(aliased=True, terse=True),
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
        "packages": {package: v for package in packages() if (v := version(package)) != "none"},
        "governor": _read(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        "boost": _read(Path("/sys/devices/system/cpu/cpufreq/boost")),
        "huge_pages": _read(Path("/sys/kernel/mm/transparent_hugepage/enabled")),
    }
    gpu = Gpu.find()
    if gpu is not None:
        description["gpu_driver"] = gpu.driver
        description["nvcc"] = _output(["nvcc", "--version"]).splitlines()[-1:] or None
    return _digest(description)[:8], description


def packages() -> list[str]:
    """The names of the packages that the project depends on, its own and those of the systems it compares."""
    try:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        needed = [*project["dependencies"], *(each for extra in project["optional-dependencies"].values() for each in extra)]
    except OSError:  # installed without its sources
        needed = metadata.requires("acrobat-bench") or []
    return sorted({re.split(r"[^A-Za-z0-9._-]", requirement)[0] for requirement in needed})


@cache
def commit() -> str:
    """The commit of the sources, with `+` where files in `SOURCES` differ from it or are not in it. The results do not count:
    the harness itself adds rows to them."""
    head = _output(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"])
    changed = _output(["git", "-C", str(ROOT), "status", "--porcelain", "--", *SOURCES])
    return head + ("+" if head and changed else "")


class Gpu:
    """The first NVIDIA GPU, through its management library; nothing here changes its settings."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml = nvml
        self._handle = handle
        self.name = str(nvml.nvmlDeviceGetName(handle))
        self.memory_gib = round(nvml.nvmlDeviceGetMemoryInfo(handle).total / 2**30)
        self.driver = str(nvml.nvmlSystemGetDriverVersion())

    @staticmethod
    @cache
    def find() -> Gpu | None:
        try:
            import pynvml

            pynvml.nvmlInit()
            return Gpu(pynvml, pynvml.nvmlDeviceGetHandleByIndex(0))
        except Exception:  # no library, no driver, no device, no permission: then there is no GPU to speak of
            return None

    def observe(self) -> dict[str, float]:
        """The clock in MHz, whether it is throttled (0 or 1) and the temperature in °C, as far as the driver tells them."""
        nvml, handle = self._nvml, self._handle
        seen: dict[str, float] = {}
        for key, ask in (
            ("sm_mhz", lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
            ("throttled", lambda: int(bool(nvml.nvmlDeviceGetCurrentClocksEventReasons(handle) & self._slowdowns()))),
            ("gpu_celsius", lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
        ):
            try:
                seen[key] = ask()
            except nvml.NVMLError:
                continue
        return seen

    def processes(self) -> set[int]:
        """The ids of the processes that are computing on it."""
        try:
            return {p.pid for p in self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)}
        except self._nvml.NVMLError:
            return set()

    def joules(self) -> float | None:
        """The energy used since the driver was loaded, in joules; None where it cannot be read."""
        try:
            return float(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle)) / 1000
        except self._nvml.NVMLError:
            return None

    def _slowdowns(self) -> int:
        nvml = self._nvml
        names = ("SwThermalSlowdown", "HwThermalSlowdown", "HwSlowdown", "HwPowerBrakeSlowdown", "SwPowerCap")
        return sum(getattr(nvml, f"nvmlClocksEventReason{n}", getattr(nvml, f"nvmlClocksThrottleReason{n}", 0)) for n in names)


def _cpuinfo() -> dict[str, str]:
    """What /proc/cpuinfo says of the first processor."""
    text = _read(Path("/proc/cpuinfo")) or ""
    pairs = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
