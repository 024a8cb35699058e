"""How much memory a cell may use, and whether the kernel has killed for want of it."""

from __future__ import annotations

from pathlib import Path

import psutil

from bench.config import Isolate
from bench.validate import LEAST_MEMORY_GB

CONTROL_GROUP = Path("/sys/fs/cgroup")
LEAST_BYTES = int(LEAST_MEMORY_GB * 2**30)


def limits(isolate: Isolate) -> dict[str, float | int]:
    """The deadline and the memory limit for a cell that begins now."""
    memory = free_memory() if isolate.memory_gb is None else int(isolate.memory_gb * 2**30)
    return {"deadline_s": isolate.deadline_s, "memory_bytes": memory}


def too_little() -> str | None:
    """Why no cell can begin now, because other processes use nearly all the memory, or None."""
    free = free_memory()
    if free >= LEAST_BYTES:
        return None
    return f"only {free >> 20} MiB of memory are free for it, and no cell begins with less than {LEAST_BYTES >> 20} MiB"


def free_memory() -> int:
    """The bytes that a cell may use by default: nine tenths of what is free in the machine and in this control group."""
    available = psutil.virtual_memory().available
    limit, used = (_number(CONTROL_GROUP / name) for name in ("memory.max", "memory.current"))
    if limit is not None and used is not None:
        available = min(available, limit - used)
    return int(available * 0.9)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # no control group, or no limit ("max")
        return None


def kills_for_memory() -> int:
    """How many processes of this control group the kernel has killed for want of memory."""
    try:
        lines = (CONTROL_GROUP / "memory.events").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
