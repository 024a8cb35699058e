"""Energy counters: of an NVIDIA GPU through its driver, of the packages of an Intel or AMD processor through RAPL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench.devices import DEVICES
from bench.machine import Gpu

POWERCAP = Path("/sys/class/powercap")


class Meter(Protocol):
    """What reads the energy that a part of the machine has used."""

    def joules(self) -> float | None:
        """The energy used since some fixed time, in joules; None if it cannot be read this time."""
        ...


@dataclass
class Rapl:
    """The energy of all packages of the processor. The counter of a package wraps around to 0, which the sum makes up for."""

    packages: Sequence[Path]

    def __post_init__(self) -> None:
        self._last = [0] * len(self.packages)
        self._total = 0  # microjoules, since the first reading
        self._begun = False

    @staticmethod
    def find(folder: Path = POWERCAP) -> Rapl | None:
        """The meter of this machine; None without such a counter (most virtual machines), or if only root may read it."""
        packages = [path for path in sorted(folder.glob("intel-rapl:*")) if path.name.count(":") == 1]
        meter = Rapl(packages)
        return meter if packages and meter.joules() is not None else None

    def joules(self) -> float | None:
        try:
            now = [int((package / "energy_uj").read_text()) for package in self.packages]
            full = [int((package / "max_energy_range_uj").read_text()) for package in self.packages]
        except (OSError, ValueError):
            return None
        if self._begun:
            self._total += sum((new - old) % (most + 1) for new, old, most in zip(now, self._last, full, strict=True))
        self._last, self._begun = now, True
        return self._total / 1e6


def find(device: str, gpu: Gpu | None) -> Meter | None:
    """The meter for cells on `device`; None where there is none."""
    return Rapl.find() if DEVICES[device].processor else gpu
