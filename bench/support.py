"""An index on disk of which backend runs which workload on this machine, so that `bench.list` answers at once.

Runs add answers, and `bench.list` asks for those that are missing. Each answer has two keys. The first (`key`) covers all that
it depends on: the sources of both, their software, the device and the installed packages. The second (`question`) names only
the backend, the workload and the device: its answer is shown when sources have changed, until somebody asks anew, since few
changes make a system run what it did not run before. That something is not installed is kept under the first key only.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from bench import machine
from bench.cache import folders
from bench.cell import Cell, Part
from bench.files import put
from bench.software import software
from bench.status import Status

LONGEST = 4096  # how many entries are kept, the newest ones
HOLES = (Status.UNSUPPORTED, Status.UNAVAILABLE)


def key(backend: Part, workload: Part, device: str) -> str:
    """A hash of all that decides whether the backend runs the workload: options, sources, installed software, machine."""
    cell = Cell(workload, backend, device=device)
    parts = [backend.name, backend.canonical_options(), workload.name, workload.canonical_options(), device, cell.source]
    parts += [software(cell), machine.environment()[0]]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def question(backend: Part, workload: Part, device: str) -> str:
    """The key of the last answer for a backend, workload and device, whatever their sources and software were."""
    return json.dumps([backend.name, backend.canonical_options(), workload.name, workload.canonical_options(), device])


class Index:
    """The answers by key: None where the backend runs the workload, else the reason why it does not."""

    def __init__(self) -> None:
        self._new: dict[str, str | None] = {}
        self._known = _read()

    def __contains__(self, key: str) -> bool:
        return key in self._known or key in self._new

    def reason(self, key: str) -> str | None:
        return self._new[key] if key in self._new else self._known[key]

    def learn(self, key: str, reason: str | None, question: str = "") -> None:
        """Add an answer, under `question` too if given. Failures are not kept: they may go away without a change of sources."""
        if reason is None or reason.startswith(tuple(f"{hole}:" for hole in HOLES)):
            self._new[key] = reason
        if question and (reason is None or reason.startswith(f"{Status.UNSUPPORTED}:")):
            self._new[question] = reason

    def keep(self) -> None:
        """Write the new answers to the first folder that can be written to; what other processes added meanwhile stays."""
        if not self._new:
            return
        for path in _paths():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.with_suffix(".lock").open("w") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    reasons = {known: reason for known, reason in _read().items() if known not in self._new} | self._new
                    put(path, json.dumps(dict(list(reasons.items())[-LONGEST:])).encode())
                return
            except OSError:
                continue


def learn(index: Index, cell: Cell, status: str, why: str | None, again: bool = False) -> None:
    """Add what the outcome of a cell says. For unusual options this makes an entry that `bench.list` does not look up.
    `again`: the outcome came from outside of the cell, so it says nothing."""
    if not again and (status in HOLES or status == Status.OK):
        question_parts = (cell.backend, cell.workload, cell.device)
        index.learn(key(*question_parts), None if status == Status.OK else f"{status}: {why}", question(*question_parts))


def _read() -> Mapping[str, str | None]:
    for path in _paths():
        with contextlib.suppress(OSError, ValueError):
            reasons = json.loads(path.read_text())
            if isinstance(reasons, dict) and all(each is None or isinstance(each, str) for each in reasons.values()):
                return reasons
    return {}


def _paths() -> list[Path]:
    return [folder / "support.json" for folder in folders()]
