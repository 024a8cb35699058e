"""The lock that lets one campaign at a time measure."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bench
from bench import lock
from bench.options import ConfigError
from bench.status import Exit, Status
from bench.tests.conftest import QUICK, STRICT, cell


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The descriptor of a lock that is held already; opening the file anew in this process is like another process here."""
    monkeypatch.setattr(lock, "path", lambda: tmp_path / "lock")
    (tmp_path / "lock").touch(mode=0o444)
    descriptor = os.open(tmp_path / "lock", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def test_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "path", lambda: tmp_path / "lock")
    for how in ("wait", "refuse", "ignore"):
        with lock.machine(how, pytest.fail) as waited:
            assert not waited


def test_refusing_names_the_other(held: int) -> None:
    with pytest.raises(lock.Busy, match=f"process {os.getpid()} .*lock=wait waits"), lock.machine("refuse", pytest.fail):
        pass


def test_ignoring(held: int) -> None:
    with lock.machine("ignore", pytest.fail) as waited:
        assert not waited


def test_waiting_ends_when_the_other_does(held: int) -> None:
    said: list[str] = []
    released = threading.Event()

    def release() -> None:
        released.set()
        os.close(held)

    def tell(text: str) -> None:
        said.append(text)
        threading.Timer(0.1, release).start()

    with lock.machine("wait", tell) as waited:
        assert waited
        assert released.is_set()
    (text,) = said
    assert text.startswith(f"waiting for process {os.getpid()} ")


def test_waiting_goes_on_no_longer_than_there_is_time(held: int) -> None:
    with pytest.raises(lock.OutOfTime), lock.machine("wait", lambda _: None, until=time.monotonic()):
        pass


def test_from_python_the_machine_is_locked_too(held: int, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"process {os.getpid()} .*lock=wait waits"):
        bench.run(cell(), QUICK, STRICT, tmp_path, lock="refuse")
    assert bench.run(cell(), QUICK, STRICT, tmp_path, lock="ignore")["status"] == Status.OK


def test_two_commands_measure_a_cell_once(command: Callable[..., list[str]], tmp_path: Path) -> None:
    """The second command waits for the first one, and then finds its row."""
    private = {**os.environ, "BENCH_LOCK": str(tmp_path / "lock")}
    arguments = command("backend=[honest]", "measure=quick", "measure.stored=true")
    arguments[arguments.index("lock=ignore")] = "lock=wait"
    pipes: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    both = [subprocess.Popen(arguments, text=True, env=private, **pipes) for _ in "ab"]
    said = [each.communicate()[1] for each in both]
    assert [each.returncode for each in both] == [Exit.OK, Exit.OK], said
    (path,) = tmp_path.glob("results/*/cells.jsonl")
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 1, said
    assert sum("1 finished earlier" in text for text in said) == 1
