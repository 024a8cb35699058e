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

from bench.environment import child_environment
from bench.family import Family, Usage, is_running, kill_orphans, orphans, reap
from bench.handover import Reader
from bench.log import cap, end_of, last_line, one_line
from bench.memory import kills_for_memory
from bench.outcome import NO_ROOM, OUT_OF_MEMORY
from bench.replies import LONGEST, Unreadable, parse
from bench.standing import standing
from bench.status import Status
from bench.template import Adopted, Lost, Template

BLOCK = 512  # bytes, the unit in which the operating system counts the memory of shared files
LOOK_S = 0.5  # how often the memory of a working child is checked
TOKEN = "BENCH_CHILD"  # the variable in the environment of a child and its descendants by which they are found


SIGNALS = {number.value: number.name for number in signal.Signals}  # without most of the real-time ones
OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)  # sent by people and by other programs


class Ended(Exception):
    """Raised where a cell ends, with its status and the reason (None where there is nothing to explain)."""

    def __init__(self, status: Status, why: str | None, again: bool = False) -> None:
        super().__init__(why)
        self.status = status
        self.why = why
        self.again = again  # the cause came from outside of the cell, so the next command measures the cell again


def verdict(error: Exception, log: Path | None) -> Ended:
    """How a cell ends when `error` was raised while the harness dealt with it: as `error` says if it is an `Ended`. Any other
    exception is a mistake of the harness: the cell has failed, its log gets the traceback, and the other cells go on."""
    if isinstance(error, Ended):
        return error
    try:
        if log is not None:
            with log.open("a", errors="backslashreplace") as file:
                traceback.print_exception(error, file=file)
    except OSError:
        pass
    return _ended(Status.FAILED, f"error of the harness: {type(error).__name__}: {one_line(error)}".rstrip(": "))


def _ended(status: Status, why: str, log: str = "") -> Ended:
    """`log`: the end of the cell's log, which tells more than `why`, the first line of an error."""
    return Ended(status, why, again=status == Status.FAILED and bool(NO_ROOM.search(why) or NO_ROOM.search(log)))


class Child:
    """The process of a cell, which runs bench/worker.py. `ask` sends it a request and waits for the reply; between requests it
    sleeps on its pipe. `usage` is the processor time of the process and its descendants, as the operating system counts it. The
    parent must adopt orphans (`family.adopting`), so that processes which a dead child leaves behind can be found."""

    living: ClassVar[set[int]] = set()  # the ids of all children, which `kill_orphans` must spare
    changing: ClassVar[threading.Lock] = threading.Lock()  # held until a process that was started is in `living`
    left: ClassVar[dict[int, str]] = {}  # the names, by id, of all orphans that `look_for_orphans` has found

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
        """`template`: the process to fork from, made with the same `threads` and `env`; by default a new interpreter starts.
        `limit_data`: have the operating system enforce `memory_bytes` too. `cpus`: the processors to run on."""
        self.log = log
        self.memory_bytes = memory_bytes
        self._limit_data = limit_data
        self.left_s = deadline_s  # working time that is left; only the time from a request to its reply counts
        self.deadline_s = deadline_s
        self._peak = 0
        self._kills_before = kills_for_memory()
        self._token = uuid.uuid4().hex
        self._buffer = bytearray()
        self._killing = threading.RLock()
        self._asked, self._since = "", 0.0
        self.shared_s = 0.0  # seconds that its template took to load what all cells need
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
        self.standing = standing(self.process.pid)

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
        """Send the request `do` and return the reply. Raises Ended if the reply is a verdict or unreadable, or if the child
        dies or exceeds its deadline or memory limit."""
        self.send(do, **request)
        return self.receive()

    def limit_memory(self, memory_bytes: int) -> None:
        """Lower the memory limit; a limit above the present one has no effect."""
        self.memory_bytes = min(self.memory_bytes, memory_bytes)
        if self._limit_data and self.process.poll() is None:
            resource.prlimit(self.process.pid, resource.RLIMIT_DATA, (self.memory_bytes, self.memory_bytes))

    def send(self, do: str, **request: Any) -> None:
        """The first half of `ask`: send the request, so that the child begins to work. `receive` waits for the reply."""
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
        """The second half of `ask`: wait for the reply to what was sent last and return it. Raises Ended as `ask` does."""
        while b"\n" not in self._buffer:
            readable = self._readable(min(LOOK_S, max(0.0, self._seconds_left())))
            cap(self.log)
            if readable:
                self._read()
                if len(self._buffer) > LONGEST:
                    raise self._unreadable(f"it is longer than {LONGEST >> 20} MiB")
            else:
                self._look()
        left_s = self._seconds_left()
        self.usage.replied(self._asked, self.left_s - left_s)
        self.left_s = left_s
        line, _, following = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(following)
        try:
            reply = parse(line, self._asked)
        except Unreadable as error:
            raise self._unreadable(str(error)) from error
        if "status" in reply and "samples_s" not in reply:
            raise _ended(Status(reply["status"]), one_line(reply["why"]), end_of(self.log))
        return reply

    def _seconds_left(self) -> float:
        return self.left_s - (monotonic() - self._since)

    def _readable(self, timeout_s: float) -> bool:
        return bool(select.select([self._replies], [], [], timeout_s)[0])

    def _read(self) -> None:
        chunk = os.read(self._replies, 1 << 16)
        if not chunk:
            raise self._died()
        self._buffer += chunk

    def _look(self) -> None:
        """Where there is nothing to read: raise Ended if the child has died or is over its deadline or its memory limit."""
        if self._seconds_left() <= 0:
            self.kill()
            raise Ended(Status.TIMEOUT, f"still in '{self._asked}' at its deadline of {self.deadline_s:g} s")
        if self.process.poll() is not None and not self._readable(0):  # its descendants may still hold the pipe open
            raise self._died()
        self._look_at_memory()

    def _unreadable(self, why: str) -> Ended:
        self.kill()
        return Ended(Status.FAILED, f"unreadable reply to '{self._asked}': {why}")

    @classmethod
    def look_for_orphans(cls) -> dict[int, str]:
        """The names, by id, of the processes that children have left behind outside of their trees, in all this process's time.
        Those that are still there when a child is killed are ended with it."""
        with cls.changing:
            cls.left.update(orphans(cls.living))
            return dict(cls.left)

    def kill(self) -> None:
        """Kill the child and its descendants, also those that left its session, and close the pipes and the shared memory.
        Several threads may do so at once: the one that the child worked for, and one that needs its work no longer."""
        with self._killing:
            self._kill()

    def _kill(self) -> None:
        killed: list[int] = []
        if is_running(self.process.pid):  # what a child leaves that has died by itself says nothing about the others
            self.look_for_orphans()
        if self.process.returncode is None:  # it was not waited for, so no other process can have its id
            killed = self.family.kill()
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        with self.changing:
            self.living.discard(self.process.pid)
            reap([*killed, *kill_orphans(self.living)])
        self.outputs.close()
        for descriptor in (self._requests, self._replies):
            try:
                os.close(descriptor)
            except OSError:
                pass
        self._requests = self._replies = -1
        for pid in _carrying(self._token):
            _kill_process(pid)

    def _look_at_memory(self) -> None:
        used = 0 if self.outputs.descriptor < 0 else os.fstat(self.outputs.descriptor).st_blocks * BLOCK
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
        last = last_line(self.log)
        if code >= 0:
            return _ended(Status.FAILED, f"the process ended with code {code}" + (f": {last}" if last else ""))
        name = SIGNALS.get(-code, f"signal {-code}")
        why = f"the process was ended by {name}" + (f": {last}" if last else "")
        starved = self._peak > self.memory_bytes / 2 or kills_for_memory() > self._kills_before
        if (-code == signal.SIGKILL and starved) or (-code == signal.SIGABRT and OUT_OF_MEMORY.search(end_of(self.log))):
            return Ended(Status.OOM, why)
        return Ended(Status.FAILED, why, again=-code in OUTSIDE and not closed)


def environment(threads: int, variables: Mapping[str, str] | None) -> dict[str, str]:
    """All environment variables of a cell's process, except its token."""
    project = str(Path(__file__).resolve().parent.parent)
    return {
        **child_environment(threads, variables),
        "PYTHONPATH": os.pathsep.join(filter(None, [project, os.environ.get("PYTHONPATH", "")])),
        "PYTHONUNBUFFERED": "1",
        "PYTHONFAULTHANDLER": "1",
        "PYTHONHASHSEED": "0",
    }


def _carrying(token: str) -> set[int]:
    """The ids of processes with a child's token in their environment, also of those that left its session and process tree.
    There are none where processes cannot be listed, as where this one may open no further file."""
    pids: set[int] = set()
    try:
        processes = list(psutil.process_iter())
    except (psutil.Error, OSError):
        return pids
    for process in processes:
        try:
            if process.environ().get(TOKEN) == token:
                pids.add(process.pid)
        except (psutil.Error, OSError):
            continue
    return pids


def _kill_process(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
