"""Records and flags what else the machine did while cells were timed. No sample is ever dropped or corrected for that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import psutil

from bench.family import Family, Usage, Used
from bench.machine import Gpu

WINDOW_S = 0.5  # the kernel counts processor time in hundredths of a second, so shorter windows say nothing
FOREIGN_CORES = 0.25  # a flag if other processes use more
CLOCK_SPREAD = 0.05  # a flag if the clock varies by more, relative to its largest value


MORE_CORES = 0.2  # a flag if a cell uses so much more than the threads that it was asked to use
READY_S = 0.5  # where only delays tell of work, this too must be exceeded: seconds of work beyond what the cell may do
IDLE_CORES, IDLE_CPU_S = 0.1, 0.25  # a flag if a cell uses more of both while it has nothing to do
IDLE_THREADS = 0.5  # the same for threads that have work, on a busy machine


class Monitor:
    """Observes the machine in windows of `WINDOW_S` or more. `windows` has, by cell id, those in which the cell had a turn."""

    def __init__(self, gpu: Gpu | None = None) -> None:
        self.gpu = gpu
        self.windows: dict[str, list[dict[str, float]]] = {}
        self.start(())

    def round(self, cell_id: str, children: Sequence[int]) -> None:
        """To be called after a turn of `cell_id`. `children`: the processes whose load is the harness's own."""
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
            if computing & set(children):  # else the driver gives ids of another namespace of processes
                window["gpu_others"] = len(computing - set(children))
        for each in self._ran:
            self.windows.setdefault(each, []).append(window)
        self.start(children)

    def start(self, children: Sequence[int]) -> None:
        """Begin a window: before the rounds, and whenever a child has ended, whose time can no longer be counted as our own."""
        self._since, self._busy, self._own = monotonic(), _busy(), _own(children)
        self._ran: set[str] = set()


def report(windows: Sequence[dict[str, float]]) -> tuple[dict[str, Any], list[str]]:
    """What the row keeps of the observations (the least, median and largest value of each series), and the flags."""
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
    """Flags a cell that used, or could have used, more processors than `threads` while it worked on requests `timed`, or that
    worked between requests and so slowed the others."""
    flags = []
    used = usage.asked.get(timed) or Used()
    asked = f"asked for {threads} thread" + "s" * (threads != 1)
    if used.cores > threads + MORE_CORES:
        flags.append(f"used {used.cores:.1f} cores, {asked}")
    elif used.threads > threads + MORE_CORES and used.ready_s - threads * used.wall_s > READY_S:  # on a busy machine
        flags.append(f"had work for {used.threads:.1f} threads at a time, {asked}")
    if usage.idle.cores > IDLE_CORES and usage.idle.cpu_s > IDLE_CPU_S:
        flags.append(f"used {usage.idle.cores:.1f} cores while others had their turn")
    elif usage.idle.threads > IDLE_THREADS and usage.idle.ready_s > READY_S:
        flags.append(f"had work for {usage.idle.threads:.1f} threads at a time while others had their turn")
    return flags


def left_behind(processes: Iterable[str], where: str) -> list[str]:
    """A flag for processes with these names that would have outlived their cell; the harness ends them."""
    names = sorted(processes)
    if not names:
        return []
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return [f"left {len(names)} process" + "es" * (len(names) != 1) + f" behind {where} ({shown}): ended"]


def processor_mhz() -> list[float]:
    """The clock of every processor in MHz; empty where the kernel does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []
    return [float(line.split(":")[1]) for line in lines if line.startswith("cpu MHz")]


def _busy() -> float:
    """The core-seconds that all processors together have worked since the machine started."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + getattr(times, "irq", 0.0) + getattr(times, "softirq", 0.0))


def _own(children: Sequence[int]) -> float:
    """The core-seconds of this process, the children and their descendants."""
    return process_time() + sum(Family(pid).cpu_s() for pid in children)
