"""Which backend runs which workload here: what is known of it is kept, so that `bench.list` answers at once.

An entry is known under what it depends on: the sources of both, the software they rest on, the device, and the modules that
are installed. A run adds to it what it has learned; `bench.list` asks only for what is not known. Each is kept a second time as
what was last found of a backend, a workload and a device: when sources have changed, that is the answer until somebody asks
anew, since hardly any change makes a system run what it did not run before. That something is not installed is no such answer.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from bench import machine
from bench.cache import cache_folder, temporary_folder
from bench.cell import Cell, Part
from bench.software import software
from bench.status import Status

LONGEST = 4096  # entries that are kept, the newest ones
HOLES = (Status.UNSUPPORTED, Status.UNAVAILABLE)


def key(backend: Part, workload: Part, device: str) -> str:
    cell = Cell(workload, backend, device=device)
    parts = [backend.name, backend.canonical_options(), workload.name, workload.canonical_options(), device, cell.source]
    parts += [software(cell), machine.environment()[0]]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def question(backend: Part, workload: Part, device: str) -> str:
    """The key of what was last found, whichever sources and software there were."""
    return json.dumps([backend.name, backend.canonical_options(), workload.name, workload.canonical_options(), device])


class Index:
    """Reasons by key: None where it runs."""

    def __init__(self) -> None:
        self._new: dict[str, str | None] = {}
        self._known = _read()

    def __contains__(self, key: str) -> bool:
        return key in self._known or key in self._new

    def reason(self, key: str) -> str | None:
        return self._new[key] if key in self._new else self._known[key]

    def learn(self, key: str, reason: str | None, question: str = "") -> None:
        """That something failed is not kept: it may be mended by the next time, without a change of the sources."""
        if reason is None or reason.startswith(tuple(f"{hole}:" for hole in HOLES)):
            self._new[key] = reason
        if question and (reason is None or reason.startswith(f"{Status.UNSUPPORTED}:")):
            self._new[question] = reason

    def keep(self) -> None:
        """In the first folder that takes it. What others have added meanwhile stays."""
        if not self._new:
            return
        for path in _paths():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.with_suffix(".lock").open("w") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    whole = {known: reason for known, reason in _read().items() if known not in self._new} | self._new
                    scratch = path.with_suffix(f".{os.getpid()}.tmp")
                    scratch.write_text(json.dumps(dict(list(whole.items())[-LONGEST:])))
                    scratch.replace(path)
                return
            except OSError:
                continue


def learn(index: Index, cell: Cell, status: str, why: str | None) -> None:
    """From the outcome of a cell. Options other than the usual ones are entries of their own, which nobody asks for."""
    if status in HOLES or status == Status.OK:
        asked = (cell.backend, cell.workload, cell.device)
        index.learn(key(*asked), None if status == Status.OK else f"{status}: {why}", question(*asked))


def _read() -> Mapping[str, str | None]:
    for path in _paths():
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(path.read_text())
            if isinstance(found, dict) and all(each is None or isinstance(each, str) for each in found.values()):
                return found
    return {}


def _paths() -> list[Path]:
    return [folder / "support.json" for folder in dict.fromkeys([cache_folder(), temporary_folder()])]
