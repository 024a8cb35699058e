"""The results of one machine: `cells.jsonl`, append-only, one line per outcome, and `machine.json` beside it.

A line is written by one `write` on a file opened for appending and then flushed to the disk, so a run killed at any moment
leaves whole lines and at most a torn last one, which reading skips and the next append closes off.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from bench.files import put

Record = dict[str, Any]


ROOM = 1 << 20  # bytes that must be free before anything is measured, and are then kept free for rows
FULL = (errno.ENOSPC, errno.EDQUOT)


class Store:
    """The rows of one machine, in the folder `<results>/<machine>`."""

    def __init__(self, results: Path, machine: str) -> None:
        self.results = results
        self.folder = results / machine
        self.path = self.folder / "cells.jsonl"
        self._history: dict[str, list[Record]] | None = None
        self._as_left: tuple[int, ...] | None = None  # what `_state` said after the last change that this store knows of
        self._foreign = False
        self._reserve: IO[bytes] | None = None  # a file without a name, which takes up the room for rows

    def __iter__(self) -> Iterator[Record]:
        """All whole records, oldest first."""
        if not self.path.exists():
            return
        with self.path.open("rb") as lines:
            for line in lines:
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError):  # torn, or written by another program
                    continue
                if isinstance(record, dict) and isinstance(record.get("id"), str):
                    yield record

    def latest(self, cell_id: str) -> Record | None:
        """The newest record of a cell."""
        rows = self.history(cell_id)
        return rows[-1] if rows else None

    def history(self, cell_id: str) -> list[Record]:
        """All records of a cell, oldest first."""
        if self._history is None:
            self._history = {}
            for record in self:
                self._history.setdefault(record["id"], []).append(record)
        return list(self._history.get(cell_id, ()))

    def reread(self) -> None:
        """Forget the rows that were read, because other processes may have added some."""
        self._history = None

    def open(self) -> None:
        """Make the folder and the file, and reserve room for rows, so that they find some even if logs fill the disk meanwhile.
        Raises OSError where rows cannot be stored."""
        self.folder.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644))
        self._reserve = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115 (open until the room is needed)
        self._reserve.write(bytes(ROOM))
        self._reserve.flush()
        os.fsync(self._reserve.fileno())

    def watch(self) -> None:
        """From now on notice when another program changes the file, until `was_changed` is asked."""
        self._as_left, self._foreign = _state(self.path), False

    def was_changed(self) -> bool:
        """Whether another program has changed the file since `watch`."""
        changed = self._foreign or _state(self.path) != self._as_left
        self._as_left = None
        return changed

    def append(self, record: Record) -> None:
        """Append a row. Raises OSError if it cannot be written whole, and ValueError for a row of an emulated device."""
        if record.get("emulated"):
            raise ValueError("the row of an emulated device is not kept")
        line = json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        try:
            self._write(line)
        except OSError as error:
            if error.errno not in FULL or self._reserve is None:
                raise
            self._reserve.close()
            self._reserve = None
            self._write(line)
        if self._history is not None:
            self._history.setdefault(record["id"], []).append(record)

    def _write(self, line: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # two invocations may share a store
            self._foreign = self._foreign or (self._as_left is not None and _state(descriptor) != self._as_left)
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            try:
                written = os.write(descriptor, line)
                if written != len(line):  # the disk is full, probably: writing the rest raises the error that says so
                    os.write(descriptor, line[written:])
                    raise OSError(errno.EIO, "only a part of the row was written")
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, size)
                raise
        finally:
            if self._as_left is not None:
                self._as_left = _state(descriptor)
            os.close(descriptor)

    def describe_machine(self, hardware: Mapping[str, Any], environment: str, details: Mapping[str, Any]) -> None:
        """Update `machine.json`, which has the hardware and, by its hash, every software environment that a record names."""
        path = self.folder / "machine.json"
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            description = _description(path)
            if environment in description["environments"] and description.get("hardware") == hardware:
                return
            description = {
                "hardware": dict(hardware),
                "environments": {**description["environments"], environment: dict(details)},
            }
            put(path, json.dumps(description, indent=2, sort_keys=True).encode() + b"\n")


def _state(file: Path | int) -> tuple[int, ...]:
    """What differs after any change of a file, which no user can set back: which file it is, its size, when it changed."""
    try:
        found = os.stat(file)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns


def _description(path: Path) -> dict[str, Any]:
    """The content of `machine.json`; without environments if it is missing. A damaged file is renamed, with a message."""
    try:
        description = json.loads(path.read_bytes())
        if isinstance(description, dict) and isinstance(description.get("environments"), dict):
            return description
    except FileNotFoundError:
        return {"environments": {}}
    except (ValueError, RecursionError):
        pass
    aside = path.with_suffix(f".damaged-{os.getpid()}.json")
    path.replace(aside)
    print(f"{path} was damaged: it is kept as {aside.name}, and a new one is written", file=sys.stderr)
    return {"environments": {}}
