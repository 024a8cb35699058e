"""A template process from which the cells' processes are forked, so that what all of them import is imported once.

Importing torch takes seconds, and every cell needs it: the models' classes are torch modules. So one process with the cells'
environment imports what the workload's `load` imports, and is forked for each cell. No backend's code ever runs in it, so a
cell finds the same state as in a new process. If a library has threads that it does not end before a fork, they would be
missing in the cells; the template then refuses to fork, and each cell gets a new process instead.

The template forks twice for each cell, and the process in between ends at once: template -> in between -> cell. So the process
that measures, which adopts orphans, becomes the parent of the cell's process and learns how it ends.
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
PATIENCE_S = 600.0  # how long to wait for the imports
LOOK_S = 0.0005


class Lost(Exception):
    """Raised if the template cannot be forked; the message says why."""


class Adopted:
    """A process that another one forked and this one adopted. It has those methods of `subprocess.Popen` that are needed."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # other code of this process has waited for it
                pid, status = self.pid, 0
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code. Raises `subprocess.TimeoutExpired` after `timeout` seconds."""
        until = None if timeout is None else monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and monotonic() >= until:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            sleep(LOOK_S)
        return code


class Template:
    """The template, as the process that measures sees it. It starts at once and imports; `fork` waits for that. `load_s`: the
    seconds that the imports took, known after the first fork. The calling process must adopt orphans (`family.adopting`)."""

    def __init__(self, environment: Mapping[str, str], workload: Mapping[str, Any]) -> None:
        """`environment`: all variables of the cells' processes except their tokens. `workload`: its target and options."""
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
        """Fork a process with a session of its own, whose output goes to the descriptor `log` and whose environment has the
        variables of `token` too. It runs `worker.main` with `arguments`, followed by the numbers that `descriptors` have in the
        new process. Raises Lost."""
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
    """Import the worker and what the workload needs. An error is not reported: it comes again in the cell, which reports it."""
    from bench.targets import resolve

    importlib.import_module("bench.worker")
    try:
        instance = resolve(workload["target"])(**workload["options"])
        if hasattr(instance, "load"):
            instance.load()
    except Exception:
        traceback.print_exc()


def _cannot_fork() -> str | None:
    """Why this process cannot be forked, or None: the forked process would lack threads. Some libraries, as OpenBLAS, end
    theirs before a fork and start them again when needed, so threads are counted after a first fork."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    threads = len(os.listdir("/proc/self/task"))
    return None if threads == 1 else f"{threads - 1} threads of the imported libraries would be missing in a forked process"


def _become(
    request: Mapping[str, Any], descriptors: Sequence[int], connection: socket.socket, parent: int, load_s: float
) -> None:
    """Turn a process that was just forked into that of a cell, as `Popen` does with a new one, and run the worker."""
    log, *rest = descriptors
    os.setsid()
    while os.getppid() != parent:  # until the process in between has ended and `parent` has adopted this one
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
