"""What else the machine did while a cell was timed. Recorded and flagged; no sample is ever dropped or corrected for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import psutil

from bench.family import Family, Usage
from bench.machine import Gpu

WINDOW_S = 0.5  # the kernel counts processor time in hundredths of a second, so shorter windows say nothing
FOREIGN_CORES = 0.25  # flag from here on
CLOCK_SPREAD = 0.05


MORE_CORES = 0.2  # over the threads asked for
IDLE_CORES, IDLE_CPU_S = 0.1, 0.25  # while it was not asked


class Monitor:
    """Asked after every round; answers once per window, for the cells that ran in it."""

    def __init__(self, gpu: Gpu | None = None) -> None:
        self.gpu = gpu
        self.windows: dict[str, list[dict[str, float]]] = {}
        self.start(())

    def round(self, cell_id: str, children: Sequence[int]) -> None:
        """A round of `cell_id` has ended. `children`: the processes whose load is ours."""
        self._ran.add(cell_id)
        now = monotonic()
        if now - self._since < WINDOW_S:
            return
        busy, own = _busy(), _own(children)
        window = {"foreign_cores": round(max(0.0, (busy - self._busy - own + self._own) / (now - self._since)), 2)}
        clocks = processor_mhz()
        if clocks:
            window["mhz"] = round(max(clocks))
        if self.gpu is not None:
            window |= self.gpu.observe()
            computing = self.gpu.processes()
            if computing & set(children):  # else the ids are those of another namespace
                window["gpu_others"] = len(computing - set(children))
        for each in self._ran:
            self.windows.setdefault(each, []).append(window)
        self.start(children)

    def start(self, children: Sequence[int]) -> None:
        """Begin a window: at first, and whenever a child has ended and its time is no longer ours to count."""
        self._since, self._busy, self._own = monotonic(), _busy(), _own(children)
        self._ran: set[str] = set()


def report(windows: Sequence[dict[str, float]]) -> tuple[dict[str, Any], list[str]]:
    """The observations as stored, and what is worth a flag."""
    if not windows:
        return {}, []
    series = {key: [w[key] for w in windows if key in w] for key in dict.fromkeys(k for w in windows for k in w)}
    flags = []
    foreign = sorted(series["foreign_cores"])[len(windows) // 2]
    if foreign > FOREIGN_CORES:
        flags.append(f"other processes used {foreign:g} cores")
    for key, what in (("mhz", "processor clock"), ("sm_mhz", "GPU clock")):
        clocks = series.get(key, [])
        if clocks and max(clocks) - min(clocks) > CLOCK_SPREAD * max(clocks):
            flags.append(f"{what} between {min(clocks):g} and {max(clocks):g} MHz")
    if any(series.get("throttled", [])):
        flags.append("the GPU throttled")
    if any(series.get("gpu_others", [])):
        flags.append("other processes on the GPU")
    return {key: [min(v), sorted(v)[len(v) // 2], max(v)] for key, v in series.items()}, flags


def own_load(usage: Usage, threads: int, timed: str) -> list[str]:
    """What is worth a flag in a cell's own use of processors: more of them than asked for while it was asked for `timed`, or
    work while it was asked for nothing, which slows the others. Other load on the machine can only make this less."""
    flags = []
    used = usage.asked.get(timed)
    if used is not None and used.cores > threads + MORE_CORES:
        flags.append(f"used {used.cores:.1f} cores, asked for {threads} thread" + "s" * (threads != 1))
    if usage.idle.cores > IDLE_CORES and usage.idle.cpu_s > IDLE_CPU_S:
        flags.append(f"used {usage.idle.cores:.1f} cores while others had their turn")
    return flags


def left_behind(family: Family) -> list[str]:
    """A flag for processes that a cell's end would not have ended; the harness ends them."""
    names = sorted(family.strays().values())
    if not names:
        return []
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return [f"left {len(names)} process" + "es" * (len(names) != 1) + f" behind in a session of their own ({shown}): ended"]


def processor_mhz() -> list[float]:
    """The clock of every processor, where the kernel tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []
    return [float(line.split(":")[1]) for line in lines if line.startswith("cpu MHz")]


def _busy() -> float:
    """Core-seconds the machine has worked since it started."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + getattr(times, "irq", 0.0) + getattr(times, "softirq", 0.0))


def _own(children: Sequence[int]) -> float:
    """Core-seconds of this process, the children and all that they started."""
    return process_time() + sum(Family(pid).cpu_s() for pid in children)
