"""A process from which the cells' processes are forked: what they all import is imported once.

Importing torch takes seconds, and every cell needs it: the models' classes are torch modules. So one process with the cells'
environment imports what the workload's `load` imports, runs nothing, and is forked for each cell. No backend's code ever
runs in it, so a cell finds what it would find in a process of its own. Where a library keeps threads over a fork, which then
would be missing, the template says so and each cell gets a fresh process instead.

A cell's process is forked twice: its first parent ends at once, so that the process that measures, which adopts orphans,
becomes its parent and learns how it ends.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from bench.family import die_with

LONGEST = 1 << 16  # bytes of a message
PATIENCE_S = 600.0  # with the imports
LOOK_S = 0.0005


class Lost(Exception):
    """The template cannot be forked; the message says why."""


class Adopted:
    """A process that another one has forked and this one has adopted: what `subprocess.Popen` is to one that it started."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # somebody else has waited for it
                pid, status = self.pid, 0
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Raises `subprocess.TimeoutExpired` as `Popen` does."""
        until = None if timeout is None else monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and monotonic() >= until:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            sleep(LOOK_S)
        return code


class Template:
    """Starts at once and imports; `fork` waits for that. `load_s`: how long the imports took, known after the first fork.

    This process must adopt orphans (`family.adopting`)."""

    def __init__(self, environment: Mapping[str, str], workload: Mapping[str, Any]) -> None:
        """`environment`: all variables of the cells' processes. `workload`: its target and options."""
        self.load_s = 0.0
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.settimeout(PATIENCE_S)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "bench.template", str(theirs.fileno()), str(os.getpid()), json.dumps(workload)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                env=dict(environment),
            )

    def fork(self, log: int, token: Mapping[str, str], arguments: Sequence[str], descriptors: Sequence[int]) -> Adopted:
        """A new process with a session of its own, whose output goes to the descriptor `log` and which has the variables
        `token` beside the template's. It runs `worker.main` with `arguments`, after which the new numbers of `descriptors` are
        given. Raises Lost."""
        request = json.dumps({"token": dict(token), "arguments": list(arguments)}).encode()
        try:
            socket.send_fds(self._connection, [request], [log, *descriptors])
            reply = self._connection.recv(LONGEST)
        except OSError as error:
            raise Lost(f"the template process: {error}") from error
        if not reply:
            raise Lost("the template process has ended")
        answer = json.loads(reply)
        if "why" in answer:
            raise Lost(answer["why"])
        self.load_s = answer["load_s"]
        return Adopted(answer["pid"])

    def close(self) -> None:
        self._connection.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def main() -> None:
    descriptor, parent, workload = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    die_with(parent)
    os.set_inheritable(descriptor, False)
    start = monotonic()
    _load(workload)
    load_s = monotonic() - start
    gc.collect()
    gc.freeze()  # collections in the forked processes leave these objects alone
    with socket.socket(fileno=descriptor) as connection:
        why = _cannot_fork()
        while True:
            message, descriptors, _, _ = socket.recv_fds(connection, LONGEST, 16)
            if not message:
                return
            if why is not None:
                connection.send(json.dumps({"why": why}).encode())
                continue
            between = os.fork()
            if between == 0:
                if os.fork():
                    os._exit(0)
                _become(json.loads(message), descriptors, connection, parent, load_s)
                return
            os.waitpid(between, 0)
            for each in descriptors:
                os.close(each)


def _load(workload: Mapping[str, Any]) -> None:
    """Import the worker and what the workload needs. What fails here fails in the cell again, which then says so."""
    from bench.targets import resolve

    importlib.import_module("bench.worker")
    try:
        made = resolve(workload["target"])(**workload["options"])
        if hasattr(made, "load"):
            made.load()
    except Exception:
        traceback.print_exc()


def _cannot_fork() -> str | None:
    """Threads are not there in a forked process. Libraries that know this end theirs before a fork and start them again when
    they are needed, as OpenBLAS does; so a first process is forked, and then threads are counted."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    threads = len(os.listdir("/proc/self/task"))
    return None if threads == 1 else f"{threads - 1} threads of the imported libraries would be missing in a forked process"


def _become(
    request: Mapping[str, Any], descriptors: Sequence[int], connection: socket.socket, parent: int, load_s: float
) -> None:
    """In the process of a cell, just forked: what `Popen` does for a fresh one, and then the worker."""
    log, *rest = descriptors
    os.setsid()
    while os.getppid() != parent:  # until the one that forked this has ended and `parent` has adopted it
        if not Path(f"/proc/{parent}").exists():
            os._exit(1)
        sleep(LOOK_S)
    die_with(parent)
    for standard in (1, 2):
        os.dup2(log, standard)
    os.close(log)
    os.environ.update(request["token"])
    connection.send(json.dumps({"pid": os.getpid(), "load_s": load_s}).encode())
    connection.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["bench.worker", *request["arguments"], *map(str, rest)]
    importlib.import_module("bench.worker").main()


if __name__ == "__main__":
    main()
