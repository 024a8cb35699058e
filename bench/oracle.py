"""Keeps the oracle's answers on disk, in chunks of instances, and has the missing ones computed in a child process.

Answers depend on the workload, its options, its sources, the size and the seed; not on batch size, backend or device.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

from bench.cell import Cell, workload_source
from bench.isolate import Child

CHUNK = 8  # instances in a file


def cache_folder() -> Path:
    """Where answers are kept: BENCH_CACHE, else the user's cache folder."""
    chosen = os.environ.get("BENCH_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(chosen) if chosen else Path(base) / "acrobat-bench"


class Oracle:
    """The answers to the instances of a cell, whichever backend it has. `spawn` starts a child to compute in."""

    def __init__(self, cell: Cell, spawn: Callable[[], Child]) -> None:
        self.cell = cell
        self._spawn = spawn
        part = cell.workload
        key = {
            "options": part.canonical_options(),
            "source": workload_source(part.target),
            "size": cell.size,
            "seed": cell.seed,
            "chunk": CHUNK,
        }
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
        self.folder = cache_folder() / "oracle" / f"{part.name}-{cell.size}-{digest}"

    def files(self, minibatches: int, progress: Callable[[str], None]) -> list[list[str]]:
        """Per mini-batch the files its answers are in, in order. Raises `isolate.Ended` if they cannot be computed."""
        size = self.cell.batch_size
        chunks = range(-(-size * minibatches // CHUNK))
        missing = [c for c in chunks if not self._path(c).exists()]
        if missing:
            self._compute(missing, progress)
        first_last = ((i * size // CHUNK, -(-(i + 1) * size // CHUNK)) for i in range(minibatches))
        return [[str(self._path(c)) for c in range(first, last)] for first, last in first_last]

    def _compute(self, missing: list[int], progress: Callable[[str], None]) -> None:
        child = self._spawn()
        part = self.cell.workload
        try:
            for done, chunk in enumerate(missing):
                progress(f"float64 oracle {done}/{len(missing)}")
                child.ask(
                    "oracle",
                    workload={"target": part.target, "options": dict(part.options)},
                    size=self.cell.size,
                    seed=self.cell.seed,
                    start=chunk * CHUNK,
                    stop=(chunk + 1) * CHUNK,
                    path=str(self._path(chunk)),
                )
        finally:
            child.kill()

    def _path(self, chunk: int) -> Path:
        return self.folder / f"{chunk * CHUNK:06d}.npz"
