"""A child process and all that it started: who they are, how much processor time they used, and their end.

A child makes itself the reaper of its descendants (`adopt_orphans`), so a process that forks twice and starts a session of its
own to get away still becomes a child of it, whatever it did to its environment.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import clock_gettime, monotonic, sleep
from typing import NamedTuple

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 1, 36, 37  # of prctl(2)
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE_S = 5.0  # with processes that go on starting others while they are ended


def adopt_orphans(yes: bool = True) -> None:
    """Become the parent of every descendant of this process whose own parent ends, which else the system's first process is;
    or no longer."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0)


@contextmanager
def adopting() -> Iterator[None]:
    """Adopt orphans for as long as this lasts: the program that called the harness may have other plans with its own."""
    before = ctypes.c_int(0)
    ctypes.CDLL(None).prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    adopt_orphans()
    try:
        yield
    finally:
        adopt_orphans(bool(before.value))


def die_with(parent: int) -> None:
    """End this process when its parent does, whose id must be `parent`."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


class Family:
    """The process `head`, which leads a session of its own, and its descendants."""

    def __init__(self, head: int) -> None:
        self.head = head

    def descendants(self) -> list[int]:
        found: list[int] = []
        waiting = [self.head]
        while waiting:
            children = list(_children(waiting.pop()))
            found += children
            waiting += children
        return found

    def cpu_s(self) -> float:
        """Core-seconds of the head, of its descendants, and of those that have ended and were waited for."""
        total = _own_cpu_s(self.head) + _ended_cpu_s(self.head)
        for pid in self.descendants():
            fields = _stat(pid)
            total += sum(int(ticks) for ticks in fields[11:15]) / TICKS  # utime, stime and the same of ended children
        return total

    def strays(self) -> dict[int, str]:
        """The ids and names of the descendants in other sessions than the head's: its end does not end them."""
        found = {}
        for pid in self.descendants():
            if is_running(pid) and int(_stat(pid)[3]) != self.head:
                found[pid] = _name(pid)
        return found

    def kill(self) -> list[int]:
        """End the descendants, then the head; returns the descendants' ids. The head is stopped first, so that it starts no
        others meanwhile; what those that are ended have started becomes a child of the head and is found in the next look."""
        _signal(self.head, signal.SIGSTOP)
        killed: set[int] = set()
        until = monotonic() + PATIENCE_S
        while monotonic() < until:
            alive = [pid for pid in self.descendants() if is_running(pid)]
            if not alive:
                break
            for pid in alive:
                _signal(pid, signal.SIGKILL)
            killed.update(alive)
            sleep(0.001)
        _signal(self.head, signal.SIGKILL)
        return sorted(killed)


class Usage:
    """Processor time of a family while it is asked for something, by what it is asked for, and while it is not. Core-seconds
    and seconds by the clock of the process that asks, which nothing in the family can change."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self.asked: dict[str, Used] = {}
        self.idle = Used()
        self._cpu_s = 0.0
        self._since: float | None = None  # the end of the last request

    def ask(self) -> None:
        """A request is about to be sent."""
        cpu_s, now = self.family.cpu_s(), monotonic()
        if self._since is not None:
            self.idle = self.idle.plus(cpu_s - self._cpu_s, now - self._since)
        self._cpu_s = cpu_s

    def replied(self, do: str, wall_s: float) -> None:
        """The reply to the request `do` came after `wall_s`."""
        cpu_s = self.family.cpu_s()
        self.asked[do] = self.asked.get(do, Used()).plus(cpu_s - self._cpu_s, wall_s)
        self._cpu_s, self._since = cpu_s, monotonic()


class Used(NamedTuple):
    cpu_s: float = 0.0
    wall_s: float = 0.0

    def plus(self, cpu_s: float, wall_s: float) -> Used:
        return Used(self.cpu_s + max(cpu_s, 0.0), self.wall_s + wall_s)

    @property
    def cores(self) -> float:
        return self.cpu_s / self.wall_s if self.wall_s > 0 else 0.0


def kill_orphans(known: Container[int]) -> list[int]:
    """End the children of this process that run in another session than its own and are not `known`, and return their ids:
    what children that died by themselves have left. For that this process must adopt orphans."""
    own = os.getsid(0)
    found = [pid for pid in _children(os.getpid()) if pid not in known and is_running(pid) and int(_stat(pid)[3]) != own]
    for pid in found:
        _signal(pid, signal.SIGKILL)
    return found


def reap(pids: Iterable[int]) -> None:
    """Let those of them go that have ended and are children of this process."""
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            pass


def is_running(pid: int) -> bool:
    """Is there such a process, and is it more than the record of one that has ended?"""
    return (_stat(pid) or ["Z"])[0] not in "ZX"


def _children(pid: int) -> Iterator[int]:
    """Of all threads of a process. A process or thread that has just ended has none."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        try:
            yield from map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
        except OSError:
            continue


def _stat(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat after the name: state, parent, process group, session, ... Empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _own_cpu_s(pid: int) -> float:
    """By the process's own clock, which counts nanoseconds where /proc counts hundredths of a second."""
    try:
        return clock_gettime((~pid << 3) | 2)  # CLOCK_PROCESS_CPUTIME_ID of another process, as clock_getcpuclockid(3) makes it
    except OSError:
        return 0.0


def _ended_cpu_s(pid: int) -> float:
    return sum(int(ticks) for ticks in _stat(pid)[13:15]) / TICKS


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() or "?"
    except OSError:
        return "?"


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass
