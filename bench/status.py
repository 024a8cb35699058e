"""The closed lists of outcomes: of a cell (`Status`) and of a whole invocation (`Exit`)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, StrEnum


class Status(StrEnum):
    """How a cell has ended."""

    OK = "ok"
    WRONG = "wrong"  # an output out of tolerance, changed inputs, outputs not complete when the clock stopped, or a slow clock
    FAILED = "failed"  # raised or died
    TIMEOUT = "timeout"  # passed its deadline and was killed
    OOM = "oom"  # ran out of memory
    UNVERIFIED = "unverified"  # the right answers could not be computed: no fault of the backend
    UNSUPPORTED = "unsupported"  # the backend cannot run this cell by its nature
    UNAVAILABLE = "unavailable"  # an optional module is not installed, not for this device, or no memory to begin


# What `rerun=failed` measures again.
UNSUCCESSFUL = frozenset({Status.WRONG, Status.FAILED, Status.TIMEOUT, Status.OOM, Status.UNVERIFIED})


class Exit(IntEnum):
    """How an invocation has ended: its exit code."""

    OK = 0
    FAILED = 1
    CONFIG = 2
    WRONG = 3
    NOTHING = 4  # no cell was measured, now or earlier, which a script must not take for success
    CRASHED = 70  # a mistake of the harness itself, outside of any cell
    CUT = 5  # the time `limit.wall_s` was up before the end; the same command continues from there


def exit_code(statuses: Iterable[str], cut: bool) -> Exit:
    """The exit code for the worst of the statuses. `cut`: the time limit ended the invocation."""
    seen = set(statuses)
    if Status.WRONG in seen:
        return Exit.WRONG
    if seen & UNSUCCESSFUL:
        return Exit.FAILED
    if cut:
        return Exit.CUT
    return Exit.OK if Status.OK in seen else Exit.NOTHING
