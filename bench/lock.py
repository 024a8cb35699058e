"""The lock that lets one campaign at a time measure on a machine, because two at once would disturb each other.

It is a lock on a file in a folder that every user can reach. The kernel releases it when its holder ends, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import psutil

LOOK_S = 0.2
NAME = "acrobat-bench.lock"


class Busy(Exception):
    """Another campaign is measuring; the message says which."""


class OutOfTime(Exception):
    """The other campaign was still measuring when the time to wait for it was up."""


def path() -> Path:
    """The file of the lock: the same for all users, whatever their TMPDIR is, unless BENCH_LOCK names another one."""
    chosen = os.environ.get("BENCH_LOCK")
    if chosen:
        return Path(chosen)
    shared = Path("/tmp")
    return (shared if shared.is_dir() else Path(tempfile.gettempdir())) / NAME


@contextmanager
def machine(policy: str, tell: Callable[[str], None], until: float = float("inf")) -> Iterator[bool]:
    """A context that holds the lock, and yields whether another campaign held it before, whose rows are then in the store.
    `policy`: "wait" for it, "refuse" (raises Busy) or "ignore" it. Raises OutOfTime if it is held beyond the time `until`, as
    `monotonic` gives it."""
    descriptor = None if policy == "ignore" else _open(path())
    if descriptor is None:
        yield False
        return
    try:
        waited = False
        while not _try_lock(descriptor):
            holder = describe(descriptor)
            if policy == "refuse":
                raise Busy(f"{holder} is measuring on this machine; lock=wait waits for it, lock=ignore goes on beside it")
            if not waited:
                tell(f"waiting for {holder}, which is measuring on this machine (lock=ignore goes on beside it)")
            waited = True
            if monotonic() >= until:
                raise OutOfTime
            sleep(LOOK_S)
        yield waited
    finally:
        os.close(descriptor)


def describe(descriptor: int) -> str:
    """The id and arguments of the process that holds the lock, as far as /proc tells."""
    at = os.fstat(descriptor)
    inode = f"{os.major(at.st_dev):02x}:{os.minor(at.st_dev):02x}:{at.st_ino}"
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        lines = []
    for fields in (line.split() for line in lines):
        if "->" not in fields and inode in fields:
            pid = int(fields[4])
            try:
                return f"process {pid} ({' '.join(psutil.Process(pid).cmdline()[1:])[:120]})"
            except (psutil.Error, ValueError, OSError):
                return f"process {pid}" if pid > 0 else "another process"
    return "another process"


def _open(lock: Path) -> int | None:
    """Open the file for reading, which is enough to lock it, so that it may belong to another user. None if that fails."""
    for flags in (os.O_RDONLY, os.O_RDONLY | os.O_CREAT):
        try:
            return os.open(lock, flags | os.O_CLOEXEC, 0o444)
        except OSError:
            continue
    return None


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
