"""How long threads were ready to run while other threads had the processors, as the kernel counts it.

On a busy machine a request takes longer without any fault of the process that works on it, and by just so long. A process that
sleeps, because it waits for another process or for a device to do its work, is not delayed in this sense.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Delays(NamedTuple):
    """Seconds since each thread began: of all threads of some processes together, and of the thread that asks."""

    theirs: float
    own: float


def delays(pids: Iterable[int]) -> Delays | None:
    """The delays of the threads of these processes, as far as they still run; None where the kernel does not count them."""
    own = _of_thread(Path("/proc/thread-self"))
    if own is None:
        return None
    return Delays(sum(_of_thread(thread) or 0.0 for pid in pids for thread in _threads(pid)), own)


def between(before: Delays | None, after: Delays | None) -> Delays | None:
    """The seconds that came between two results of `delays`; threads that have ended meanwhile are left out."""
    if before is None or after is None:
        return None
    return Delays(*(max(0.0, b - a) for a, b in zip(before, after, strict=True)))


def _threads(pid: int) -> list[Path]:
    folder = Path(f"/proc/{pid}/task")
    try:
        return [folder / name for name in os.listdir(folder)]
    except OSError:
        return []


def _of_thread(thread: Path) -> float | None:
    try:
        return int((thread / "schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return None
