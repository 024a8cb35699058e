"""The results of one machine: `cells.jsonl`, append-only, one line per outcome, and `machine.json` beside it.

A line is written by one `write` on a file opened for appending and then flushed to the disk, so a run killed at any moment
leaves whole lines and at most a torn last one, which reading skips and the next append closes off.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class Store:
    def __init__(self, results: Path, machine: str) -> None:
        self.results = results
        self.folder = results / machine
        self.path = self.folder / "cells.jsonl"
        self._latest: dict[str, Record] | None = None

    def __iter__(self) -> Iterator[Record]:
        """All whole records, oldest first."""
        if not self.path.exists():
            return
        with self.path.open("rb") as lines:
            for line in lines:
                try:
                    record = json.loads(line)
                except ValueError:  # torn
                    continue
                if isinstance(record, dict) and "id" in record:
                    yield record

    def latest(self, cell_id: str) -> Record | None:
        """The newest record of a cell."""
        if self._latest is None:
            self._latest = {record["id"]: record for record in self}
        return self._latest.get(cell_id)

    def append(self, record: Record) -> None:
        line = json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        self.folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # two invocations may share a store
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            if os.write(descriptor, line) != len(line):
                raise OSError(f"could not write a whole record to {self.path}")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if self._latest is not None:
            self._latest[record["id"]] = record

    def describe_machine(self, hardware: Mapping[str, Any], environment: str, details: Mapping[str, Any]) -> None:
        """Keep `machine.json`: the hardware once, and every software environment that a record names."""
        path = self.folder / "machine.json"
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = json.loads(path.read_text()) if path.exists() else {"environments": {}}
            if environment in known["environments"] and known.get("hardware") == hardware:
                return
            known = {"hardware": dict(hardware), "environments": {**known["environments"], environment: dict(details)}}
            scratch = path.with_suffix(".tmp")
            scratch.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")
            scratch.replace(path)
