"""A child process and its descendants: finds them, measures their processor time and ends them.

A child adopts the orphans among its descendants (`adopt_orphans`), so even a process that forks twice, starts a session of its
own and changes its environment to get away becomes a child of it and is found.
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

from bench.delays import Delays, between, delays

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 1, 36, 37  # of prctl(2)
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE_S = 5.0  # how long to go on ending processes that keep starting others


def adopt_orphans(yes: bool = True) -> None:
    """Make this process the parent of every descendant whose own parent ends; without that the system's first process becomes
    the parent. `yes=False` ends it."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0)


@contextmanager
def adopting() -> Iterator[None]:
    """A context in which this process adopts orphans. It restores the setting of the program that called the harness. The
    processes which that program has started before are its own: `kill_orphans` spares them."""
    before = ctypes.c_int(0)
    ctypes.CDLL(None).prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    adopt_orphans()
    own = set(_children(os.getpid())) - _callers
    _callers.update(own)
    try:
        yield
    finally:
        _callers.difference_update(own)
        adopt_orphans(bool(before.value))


_callers: set[int] = set()  # the ids of the processes that the program which called the harness has started


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends. Exits at once if its parent is no longer the process `parent`."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


class Family:
    """The process with the id `head`, which leads a session of its own, and its descendants."""

    def __init__(self, head: int) -> None:
        self.head = head

    def descendants(self) -> list[int]:
        pids: list[int] = []
        waiting = [self.head]
        while waiting:
            children = list(_children(waiting.pop()))
            pids += children
            waiting += children
        return pids

    def cpu_s(self) -> float:
        """Core-seconds of the head, of its descendants, and of descendants that have ended and were waited for."""
        total = _own_cpu_s(self.head) + _ended_cpu_s(self.head)
        for pid in self.descendants():
            fields = _stat(pid)
            total += sum(int(ticks) for ticks in fields[11:15]) / TICKS  # utime, stime and the same of ended children
        return total

    def strays(self) -> dict[int, str]:
        """The names, by id, of the running descendants that have left the head's session, so that they would outlive it."""
        strays = {}
        for pid in self.descendants():
            if is_running(pid) and int(_stat(pid)[3]) != self.head:
                strays[pid] = _name(pid)
        return strays

    def kill(self) -> list[int]:
        """End the descendants, then the head. Returns the descendants' ids. The head is stopped first, so that it starts no
        further process."""
        _signal(self.head, signal.SIGSTOP)
        killed = self.end_descendants()
        _signal(self.head, signal.SIGKILL)
        return killed

    def end_descendants(self) -> list[int]:
        """End the descendants and return their ids. The children of a process that is ended become children of the head, which
        must adopt orphans, and the next loop finds them there."""
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
        return sorted(killed)


class Usage:
    """Processor and wall time of a family while it works on requests (`asked`, by request) and between them (`idle`). Wall time
    is read in the process that asks, so nothing in the family can change it."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self.asked: dict[str, Used] = {}
        self.idle = Used()
        self._cpu_s = 0.0
        self._delayed: Delays | None = None
        self._since: float | None = None  # the end of the last request

    def ask(self) -> None:
        """To be called before a request is sent: the time since the last reply counts as idle."""
        cpu_s, now = self.family.cpu_s(), monotonic()
        if self._since is not None:
            self.idle = self.idle.plus(cpu_s - self._cpu_s, now - self._since, between(self._delayed, self._delays()))
        self._cpu_s, self._delayed = cpu_s, self._delays()

    def replied(self, do: str, wall_s: float) -> None:
        """To be called when the reply to the request `do` has come, `wall_s` seconds after the request."""
        cpu_s, delayed = self.family.cpu_s(), self._delays()
        self.asked[do] = self.asked.get(do, Used()).plus(cpu_s - self._cpu_s, wall_s, between(self._delayed, delayed))
        self._cpu_s, self._delayed, self._since = cpu_s, delayed, monotonic()

    def _delays(self) -> Delays | None:
        return delays([self.family.head, *self.family.descendants()])


class Used(NamedTuple):
    """The processor time and the wall time that all requests of one kind took, in seconds. `cost_s` is what a request would
    have taken at least on a machine without others: its wall time less the time in which threads were ready but others ran
    (bench/delays.py), and no less than its processor time, if that is shorter than its wall time. So it contains the time that
    the family slept, waiting for somebody else to do its work. `ready_s` is the time in which threads ran or were ready to,
    added up over all of them."""

    cpu_s: float = 0.0
    wall_s: float = 0.0
    cost_s: float = 0.0
    ready_s: float = 0.0

    def plus(self, cpu_s: float, wall_s: float, delay: Delays | None = None) -> Used:
        """With another request. `delay`: how long threads were kept waiting for a processor, if known."""
        cpu_s = max(cpu_s, 0.0)
        alone_s = cpu_s if delay is None else max(cpu_s, wall_s - sum(delay))
        ready_s = cpu_s + (0.0 if delay is None else delay.theirs)
        return Used(self.cpu_s + cpu_s, self.wall_s + wall_s, self.cost_s + min(wall_s, alone_s), self.ready_s + ready_s)

    @property
    def cores(self) -> float:
        return self.cpu_s / self.wall_s if self.wall_s > 0 else 0.0

    @property
    def threads(self) -> float:
        """How many threads had work at a time. A busy machine does not lower this, as it lowers the number of `cores`."""
        return self.ready_s / self.wall_s if self.wall_s > 0 else 0.0


def orphans(children: Container[int]) -> dict[int, str]:
    """The names, by id, of the processes that children left behind outside of their trees: children of this process that run in
    another session and are not among `children`. A child leaves them when it dies by itself, or where it has declined to adopt
    them. This process must be `adopting` orphans."""
    own = os.getsid(0)
    foreign = [pid for pid in _children(os.getpid()) if pid not in children and pid not in _callers]
    return {pid: _name(pid) for pid in foreign if is_running(pid) and int(_stat(pid)[3]) != own}


def kill_orphans(children: Container[int]) -> list[int]:
    """End the `orphans`, and return their ids."""
    found = list(orphans(children))
    for pid in found:
        _signal(pid, signal.SIGKILL)
    return found


def reap(pids: Iterable[int]) -> None:
    """Wait, without blocking, for those of the processes that are ended children of this one, so that none stays a zombie."""
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            pass


def is_running(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    return (_stat(pid) or ["Z"])[0] not in "ZX"


def _children(pid: int) -> Iterator[int]:
    """The ids of the children of all threads of a process; none if it has just ended."""
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
    """Core-seconds of the process itself, by its clock in nanoseconds; /proc counts only hundredths of a second."""
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
