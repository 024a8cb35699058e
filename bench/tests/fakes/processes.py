"""Backends that end, hang, or use processes, threads and memory that are not theirs."""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil

from bench.contract import Outputs
from bench.family import adopt_orphans
from bench.tests.fakes import Applied, Vector


class Exits(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        os._exit(0)


class Hangs(Applied):
    """Hangs, and starts processes, one of them in a session of its own; writes their ids to the file `note`."""

    note = ""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
        started = [subprocess.Popen(sleep), subprocess.Popen(sleep, start_new_session=True)]
        if self.note:
            Path(self.note).write_text(" ".join(str(p.pid) for p in started))
        while True:
            time.sleep(1)


class HangsTimed(Applied):
    """Hangs only once it is timed."""

    calls = 0

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        self.calls += 1
        if self.calls > 4:
            time.sleep(600)
        return super().run(minibatch)


class ExhaustsMemory(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        kept = []
        while True:
            kept.append(np.ones(1 << 24))


class ExhaustsInChildren(Applied):
    """Starts processes each of which keeps the memory limit, while all together exceed it."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        take = [sys.executable, "-c", "x = bytearray(b'1') * (400 << 20); import time; time.sleep(600)"]
        for process in [subprocess.Popen(take) for _ in range(3)]:
            process.wait()
        return []


class AbortsForMemory(Applied):
    """Ends as after an uncaught std::bad_alloc."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n")
        os.abort()


class ClosesPipes(Applied):
    """Closes every file it can find, as some launchers do."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        os.closerange(3, 256)
        time.sleep(600)
        return []


class Detaches(Applied):
    """Starts a process that forks twice and has a session and an environment of its own; writes its id to the file `note`."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        if not Path(self.note).exists():
            subprocess.run(["env", "-i", "setsid", "-f", "sh", "-c", f"echo $$ > {self.note}; exec sleep 600"], check=True)
            while not Path(self.note).exists():
                time.sleep(0.01)
        return super().run(minibatch)


class DetachesAndDies(Detaches):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        super().run(minibatch)
        ctypes.string_at(0)
        return []


class SpinsBetween(Applied):
    """Keeps a processor busy also while other cells have their turn."""

    started = False

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        if not self.started:
            self.started = True
            subprocess.Popen([sys.executable, "-c", "while True: pass"])
        return super().run(minibatch)


class ExitsPolitely(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        sys.exit(0)


class SharesMemory(Applied):
    """Takes memory that counts as shared with other processes, beyond its limit."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        shared = mmap.mmap(-1, 1200 << 20)
        for start in range(0, len(shared), mmap.PAGESIZE):
            shared[start] = 1
        time.sleep(600)
        return []


class FillsTheHandover(Applied):
    """Fills the memory in which outputs are handed over, which is in no process."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        os.posix_fallocate(int(sys.argv[5]), 0, 1200 << 20)
        time.sleep(600)
        return []


class MoreThreads(Applied):
    """Works with many more threads than it was asked to use."""

    text = bytes(1 << 20)

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__(weight)
        self.pool = ThreadPoolExecutor(16)

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        list(self.pool.map(hashlib.sha256, [self.text] * 64))
        return super().run(minibatch)


class ThreadSpins(Applied):
    """Has a thread that is busy all the time."""

    started = False

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        if not self.started:
            self.started = True
            threading.Thread(target=self.spin, daemon=True).start()
        return super().run(minibatch)

    def spin(self) -> None:
        while True:
            hashlib.sha256(bytes(1 << 16))


class DetachedSpins(Applied):
    """Leaves behind a process that has a session and an environment of its own, and is busy all the time."""

    started = False

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        if not self.started:
            self.started = True
            subprocess.run(["env", "-i", "setsid", "-f", "sh", "-c", "while :; do :; done"], check=True)
        return super().run(minibatch)


class DetachesAsAnOrphan(Detaches):
    """Declines to adopt orphans before it detaches a process, so that the process becomes no child of it."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        adopt_orphans(False)
        return super().run(minibatch)


class StopsItself(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        os.kill(os.getpid(), signal.SIGSTOP)
        return super().run(minibatch)


class IgnoresTermination(Applied):
    """Ignores every signal that can be ignored, and hangs."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(1)


class HangsInClose(Applied):
    def close(self) -> None:
        time.sleep(600)


class KillsItself(Applied):
    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().run(minibatch)


class ActsWhenTimed(Applied):
    """Does something to the processes beside its own once it is timed."""

    calls = 0

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        self.calls += 1
        if self.calls == 6:
            for process in psutil.Process(os.getppid()).children():
                if process.pid != os.getpid():
                    self.act(process.pid)
        return super().run(minibatch)

    def act(self, pid: int) -> None:
        raise NotImplementedError


class KillsOthers(ActsWhenTimed):
    def act(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)


class SlowsOthers(ActsWhenTimed):
    def act(self, pid: int) -> None:
        os.setpriority(os.PRIO_PROCESS, pid, 19)


class LeavesItsProcessors(Applied):
    """Allows itself other processors than it was given. `note`: their numbers, as in "0,1"."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        os.sched_setaffinity(0, [int(number) for number in self.note.split(",")])
        return super().run(minibatch)


class ForgesRows(Applied):
    """Finds the file of the rows by its log, and writes a row there."""

    calls = 0

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        self.calls += 1
        if self.calls == 6:
            rows = Path(os.readlink("/proc/self/fd/1")).parent.parent / "cells.jsonl"
            with rows.open("a") as file:
                file.write('{"id": "forged", "status": "ok"}\n')
        return super().run(minibatch)


class RemovesLogs(Applied):
    """Removes the folder of all logs, and leaves the folder that it works in."""

    def run(self, minibatch: Sequence[Vector]) -> Outputs:
        folder = Path(os.readlink("/proc/self/fd/1").removesuffix(" (deleted)")).parent
        shutil.rmtree(folder, ignore_errors=True)
        os.chdir("/")
        return super().run(minibatch)
