"""Measurements on disk: one JSON file for each kernel, processor and state of the templates' sources."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from backends.acrobat.core.cache_files import write_whole
from backends.acrobat.core.units import Kernel, Mode
from backends.acrobat.kernels.cpu.emit import symbol
from backends.acrobat.kernels.cpu.kernel_cache import sources_hash
from backends.acrobat.kernels.cpu.schedule import KernelSchedule
from backends.acrobat.kernels.cpu.target import CpuTarget
from backends.acrobat.tuning.search import Timing

FORMAT = 1


class Measurements:
    """The measurements of one kernel. `baseline`: rows -> seconds of a call with the default schedule. `timings`: schedule ->
    rows -> `Timing` against the default. They are read from the file at `path`; a missing file or one of another format is
    empty, and one that cannot be read is ignored with a warning."""

    def __init__(self, path: Path, read: Callable[[Mapping[str, Any]], Any] | None = None) -> None:
        """`read` makes a schedule of its fields as they stand in the file; by default a schedule for the processor."""
        self.path = path
        self.read = read or _processors
        self.baseline: dict[int, float] = {}
        self.timings: dict[Any, dict[int, Timing]] = {}
        try:
            self._read(json.loads(path.read_text()))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            self.baseline, self.timings = {}, {}
            warnings.warn(
                f"the tuning results in {path} cannot be used ({type(error).__name__}: {error}); they are measured again",
                stacklevel=2,
            )

    def _read(self, stored: Mapping) -> None:
        if stored["format"] != FORMAT:
            return
        self.baseline = {int(rows): float(seconds) for rows, seconds in stored["baseline"].items()}
        for entry in stored["schedules"]:
            self.timings[self.read(entry["schedule"])] = {
                int(rows): Timing(*map(float, pair)) for rows, pair in entry["timings"].items()
            }

    def write(self) -> None:
        """Writes the file in one step, so that a reader sees the old or the new one. Warns where nothing can be written."""
        stored = {
            "format": FORMAT,
            "baseline": self.baseline,
            "schedules": [
                {"schedule": asdict(s), "timings": {rows: (t.default, t.ratio) for rows, t in timing.items()}}
                for s, timing in self.timings.items()
            ],
        }
        try:
            write_whole(self.path, json.dumps(stored, indent=1).encode())
        except OSError as error:
            warnings.warn(f"the tuning results cannot be kept in {self.path} ({error.strerror})", stacklevel=2)


def _processors(fields: Mapping[str, Any]) -> KernelSchedule:
    return KernelSchedule(**{**fields, "rest": tuple(fields["rest"])})


def path_for(folder: Path, kernel: Kernel, out_mode: Mode, target: CpuTarget, start: KernelSchedule) -> Path:
    """The file for a kernel's measurements on this processor, in which schedules are compared with `start`."""
    text = "\n".join([repr((kernel, out_mode, target, start)), sources_hash(), processor()])
    name = symbol(kernel, out_mode, target).rpartition("_")[0]
    return folder / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


@cache
def processor() -> str:
    """The model name of this machine's processor; empty if the system does not say."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
