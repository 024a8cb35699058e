"""A child process per cell: its own session, log and memory limit; a deadline after which the whole tree is killed."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import traceback
import uuid
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar

import psutil

from bench.config import Isolate
from bench.environment import child_environment
from bench.family import Family, Usage, kill_orphans, reap
from bench.handover import Reader
from bench.log import cap, one_line
from bench.replies import LONGEST, Unreadable, parse
from bench.status import Status
from bench.template import Adopted, Lost, Template
from bench.worker import OUT_OF_MEMORY

LOOK_S = 0.5  # how often a working child's memory is looked at
ANSWERS = "BENCH_CACHE"  # where the oracle's answers are kept: no business of a backend
TOKEN = "BENCH_CHILD"  # in the environment of a child and of all it starts


OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)  # sent by people and by other programs


class Ended(Exception):
    """A cell is over: what it comes to, and why (None where there is nothing to explain)."""

    def __init__(self, status: Status, why: str | None, again: bool = False) -> None:
        super().__init__(why)
        self.status = status
        self.why = why
        self.again = again  # it came from outside of the cell, so the next command measures the cell again


def verdict(error: Exception, log: Path | None) -> Ended:
    """What a cell comes to when `error` was raised while the harness dealt with it. Anything but `Ended` is a mistake of the
    harness: that cell has failed, its log gets the traceback, and the other cells go on."""
    if isinstance(error, Ended):
        return error
    try:
        if log is not None:
            with log.open("a", errors="backslashreplace") as file:
                traceback.print_exception(error, file=file)
    except OSError:
        pass
    return Ended(Status.FAILED, f"error of the harness: {type(error).__name__}: {one_line(error)}".rstrip(": "))


class Child:
    """A worker. `ask` is a call into it; while nobody asks, it sleeps on its pipe. `usage` is the processor time of it and all
    that it started, as the kernel counts it. The process that starts it must adopt orphans (`family.adopting`), so that what a
    child leaves when it dies can be found."""

    living: ClassVar[set[int]] = set()
    changing: ClassVar[threading.Lock] = threading.Lock()  # of what is living: a process that starts is not an orphan

    def __init__(
        self,
        log: Path,
        threads: int,
        deadline_s: float,
        memory_bytes: int,
        limit_data: bool,
        cpus: list[int] | None = None,
        env: Mapping[str, str] | None = None,
        template: Template | None = None,
    ) -> None:
        """`template`: the process to fork it from, made with the same `threads` and `env`; a fresh process without one."""
        self.log = log
        self.memory_bytes = memory_bytes
        self._limit_data = limit_data
        self.left_s = deadline_s  # of working time: waiting for its turn costs nothing
        self.deadline_s = deadline_s
        self._peak = 0
        self._kills_before = _kills_for_memory()
        self._token = uuid.uuid4().hex
        self._buffer = bytearray()
        self._asked, self._since = "", 0.0
        self.shared_s = 0.0  # how long its template took to load what all cells need
        self.outputs = Reader()
        requests, self._requests = os.pipe()
        self._replies, replies = os.pipe()
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output, self.changing:
            self.process = self._start(output.fileno(), requests, replies, threads, env, template)
            self.living.add(self.process.pid)
        os.close(requests)
        os.close(replies)
        self.family = Family(self.process.pid)
        self.usage = Usage(self.family)
        os.set_blocking(self._requests, False)
        if cpus is not None:
            os.sched_setaffinity(self.process.pid, cpus)

    def _start(
        self, log: int, requests: int, replies: int, threads: int, env: Mapping[str, str] | None, template: Template | None
    ) -> subprocess.Popen[bytes] | Adopted:
        arguments = [str(os.getpid()), str(self.memory_bytes if self._limit_data else 0)]
        descriptors = (requests, replies, self.outputs.descriptor)
        if template is not None:
            try:
                forked = template.fork(log, {TOKEN: self._token}, arguments, descriptors)
                self.shared_s = template.load_s
                return forked
            except Lost as error:
                os.write(log, f"[a fresh process: {error}]\n".encode())
        return subprocess.Popen(
            [sys.executable, "-m", "bench.worker", *arguments, *map(str, descriptors)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=descriptors,
            start_new_session=True,
            env=environment(threads, env) | {TOKEN: self._token},
        )

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """The reply. Raises Ended when the reply is a verdict or unreadable, the child dies, or its deadline or memory limit is
        passed."""
        self.send(do, **request)
        return self.receive()

    def limit_memory(self, memory_bytes: int) -> None:
        """A lower limit than the one it was started with."""
        self.memory_bytes = min(self.memory_bytes, memory_bytes)
        if self._limit_data and self.process.poll() is None:
            resource.prlimit(self.process.pid, resource.RLIMIT_DATA, (self.memory_bytes, self.memory_bytes))

    def send(self, do: str, **request: Any) -> None:
        """The first half of `ask`: the child begins to work. `receive` is the second."""
        self.usage.ask()
        self._asked, self._since = do, monotonic()
        if self._readable(0):
            self._read()
        if self._buffer:
            raise self._unreadable("the process wrote one before it was asked")
        unsent = memoryview(json.dumps({"do": do, **request}).encode() + b"\n")
        while unsent:
            _, ready, _ = select.select([], [self._requests], [], LOOK_S)
            try:
                unsent = unsent[os.write(self._requests, unsent) :] if ready else unsent
            except BrokenPipeError:
                raise self._died() from None
            if not ready:
                self._look()

    def receive(self) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            readable = self._readable(min(LOOK_S, max(0.0, self._left())))
            cap(self.log)
            if readable:
                self._read()
                if len(self._buffer) > LONGEST:
                    raise self._unreadable(f"it is longer than {LONGEST >> 20} MiB")
            else:
                self._look()
        left_s = self._left()
        self.usage.replied(self._asked, self.left_s - left_s)
        self.left_s = left_s
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        try:
            reply = parse(line, self._asked)
        except Unreadable as error:
            raise self._unreadable(str(error)) from error
        if "status" in reply and "samples_s" not in reply:
            raise Ended(Status(reply["status"]), one_line(reply["why"]))
        return reply

    def _left(self) -> float:
        return self.left_s - (monotonic() - self._since)

    def _readable(self, timeout_s: float) -> bool:
        return bool(select.select([self._replies], [], [], timeout_s)[0])

    def _read(self) -> None:
        chunk = os.read(self._replies, 1 << 16)
        if not chunk:
            raise self._died()
        self._buffer += chunk

    def _look(self) -> None:
        """Nothing to read: is the child alive, in time, and within its memory?"""
        if self._left() <= 0:
            self.kill()
            raise Ended(Status.TIMEOUT, f"still in '{self._asked}' at its deadline of {self.deadline_s:g} s")
        if self.process.poll() is not None and not self._readable(0):  # what it started may still hold its end of the pipe
            raise self._died()
        self._look_at_memory()

    def _unreadable(self, why: str) -> Ended:
        self.kill()
        return Ended(Status.FAILED, f"unreadable reply to '{self._asked}': {why}")

    def kill(self) -> None:
        """The child and everything it started, also what left its session."""
        killed: list[int] = []
        if self.process.returncode is None:  # not yet reaped, so its id is its own
            killed = self.family.kill()
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        with self.changing:
            self.living.discard(self.process.pid)
            reap([*killed, *kill_orphans(self.living)])
        for pid in _carrying(self._token):
            _kill(pid)
        self.outputs.close()
        for descriptor in (self._requests, self._replies):
            try:
                os.close(descriptor)
            except OSError:
                pass
        self._requests = self._replies = -1

    def _look_at_memory(self) -> None:
        used = 0
        try:
            child = psutil.Process(self.process.pid)
            for process in (child, *child.children(recursive=True)):
                used += process.memory_info().rss
        except psutil.NoSuchProcess:
            return
        self._peak = max(self._peak, used)
        if used > self.memory_bytes:
            self.kill()
            raise Ended(Status.OOM, f"used {used / 2**30:.1f} GiB, its limit is {self.memory_bytes / 2**30:.1f} GiB")

    def _died(self) -> Ended:
        try:
            code = self.process.wait(timeout=5)
            closed = False
        except subprocess.TimeoutExpired:  # alive, but it closed its pipes
            code, closed = -signal.SIGKILL, True
        self.kill()
        last = _last_line(self.log)
        if code >= 0:
            return Ended(Status.FAILED, f"the process ended with code {code}" + (f": {last}" if last else ""))
        name = signal.Signals(-code).name
        why = f"the process was ended by {name}" + (f": {last}" if last else "")
        starved = self._peak > self.memory_bytes / 2 or _kills_for_memory() > self._kills_before
        if (-code == signal.SIGKILL and starved) or (-code == signal.SIGABRT and OUT_OF_MEMORY.search(_tail(self.log))):
            return Ended(Status.OOM, why)
        return Ended(Status.FAILED, why, again=-code in OUTSIDE and not closed)


def environment(threads: int, given: Mapping[str, str] | None) -> dict[str, str]:
    """All variables of a cell's process but its token."""
    here = str(Path(__file__).resolve().parent.parent)
    return {
        **{name: value for name, value in child_environment(threads, given).items() if name != ANSWERS},
        "PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")])),
        "PYTHONUNBUFFERED": "1",
        "PYTHONFAULTHANDLER": "1",
        "PYTHONHASHSEED": "0",
    }


def limits(isolate: Isolate) -> dict[str, float | int]:
    """Those in force for a cell that begins now."""
    memory = free_memory() if isolate.memory_gb is None else int(isolate.memory_gb * 2**30)
    return {"deadline_s": isolate.deadline_s, "memory_bytes": memory}


def free_memory() -> int:
    """Bytes a cell may use by default: nine tenths of what is free, in the machine and in this control group."""
    available = psutil.virtual_memory().available
    limit, used = (_number(Path("/sys/fs/cgroup") / name) for name in ("memory.max", "memory.current"))
    if limit is not None and used is not None:
        available = min(available, limit - used)
    return int(available * 0.9)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # no control group, or no limit ("max")
        return None


def _carrying(token: str) -> set[int]:
    """Processes that inherited a child's token: those that left its session and its tree too."""
    found = set()
    for process in psutil.process_iter():
        try:
            if process.environ().get(TOKEN) == token:
                found.add(process.pid)
        except (psutil.Error, OSError):
            continue
    return found


def _kills_for_memory() -> int:
    """How often the kernel has killed in this control group for want of memory."""
    try:
        lines = (Path("/sys/fs/cgroup") / "memory.events").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _tail(log: Path, size: int = 8192) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - size))
        return file.read().decode(errors="replace")


def _last_line(log: Path) -> str:
    """What the log says happened: with the fault handler on, the line before its stack."""
    lines = [line.strip() for line in _tail(log).splitlines() if line.strip()]
    for line in lines:
        if line.startswith("Fatal Python error"):
            return one_line(line)
    return one_line(lines[-1], 200) if lines else ""
