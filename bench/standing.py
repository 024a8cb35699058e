"""How the scheduler of the operating system treats a cell's process, and flags where that changed while it was measured.

A process may change its own standing and that of others of the same user: it can leave the processors that it was pinned to, or
slow a rival down.
"""

from __future__ import annotations

import os
from typing import NamedTuple


class Standing(NamedTuple):
    """`nice` and `policy` of the main thread; the `processors` on which any thread of the process may run."""

    nice: int
    policy: int
    processors: frozenset[int]


def standing(pid: int) -> Standing | None:
    """The standing of a process; None if it has just ended."""
    try:
        threads = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
        allowed = frozenset().union(*(os.sched_getaffinity(thread) for thread in threads))
        return Standing(os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid), allowed)
    except OSError:
        return None


def altered(before: Standing | None, now: Standing | None) -> list[str]:
    """The flags for a process whose standing is not what it was."""
    if before is None or now is None:
        return []
    flags = []
    if now.nice != before.nice:
        flags.append(f"its priority was changed while it was measured: nice {before.nice} became {now.nice}")
    if now.policy != before.policy:
        flags.append(f"its scheduling policy was changed while it was measured: {before.policy} became {now.policy}")
    if now.processors != before.processors:
        given, used = (", ".join(map(str, sorted(each.processors))) for each in (before, now))
        flags.append(f"its processors were changed while it was measured: {given} became {used}")
    return flags
