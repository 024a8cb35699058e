"""Keeps the oracle's answers on disk, in chunks of instances, and has the missing ones computed in a child process.

Answers depend on the workload, its options, its sources, the size and the seed; not on batch size, backend or device. A file's
name has the hash of its content: one that was damaged is not what its name says, and is computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.cell import Cell, workload_source
from bench.isolate import Child, Ended
from bench.status import Status

CHUNK = 8  # instances in a file


def cache_folder() -> Path:
    """Where answers are kept: BENCH_CACHE, else the user's cache folder, else, without a home, the temporary one."""
    chosen = os.environ.get("BENCH_CACHE")
    if chosen:
        return Path(chosen)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "acrobat-bench"
    except RuntimeError:  # no HOME, and no such user
        return temporary_folder()


def temporary_folder() -> Path:
    """Where they are kept if they cannot be there."""
    return Path(tempfile.gettempdir()) / f"acrobat-bench-{os.getuid()}"


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
        name = f"{part.name}-{cell.size}-{digest}"
        self.folders = [folder / "oracle" / name for folder in dict.fromkeys([cache_folder(), temporary_folder()])]

    def files(self, minibatches: int, progress: Callable[[str], None]) -> list[list[str]]:
        """Per mini-batch the files its answers are in, in order. Raises `isolate.Ended` with status `unverified` if they cannot
        be computed or kept: no backend is to blame for that, and the next command tries again."""
        size = self.cell.batch_size
        chunks = range(-(-size * minibatches // CHUNK))
        try:
            found = {chunk: path for chunk in chunks if (path := self._found(chunk))}
            missing = [chunk for chunk in chunks if chunk not in found]
            found |= self._computed(missing, progress) if missing else {}
        except Ended as ended:
            raise Ended(Status.UNVERIFIED, f"no oracle: {ended.status}: {ended.why}", again=True) from ended
        except OSError as error:
            raise Ended(Status.UNVERIFIED, f"no oracle: {error}", again=True) from error
        first_last = ((i * size // CHUNK, -(-(i + 1) * size // CHUNK)) for i in range(minibatches))
        return [[str(found[c]) for c in range(first, last)] for first, last in first_last]

    def _found(self, chunk: int) -> Path | None:
        """The whole file of a chunk, if there is one."""
        for folder in self.folders:
            for path in folder.glob(f"{chunk * CHUNK:06d}-*.npz"):
                if path.stem.endswith(f"-{_digest(path)}"):
                    return path
        return None

    def _computed(self, missing: list[int], progress: Callable[[str], None]) -> dict[int, Path]:
        """In the first folder that takes them. A disk may turn out to be full only while they are written."""
        *usual, last = self.folders
        for folder in usual:
            try:
                return self._compute(missing, folder, progress)
            except OSError:
                continue
            except Ended:
                if _has_room(folder):
                    raise
        return self._compute(missing, last, progress)

    def _compute(self, missing: list[int], folder: Path, progress: Callable[[str], None]) -> dict[int, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        if not _has_room(folder):
            raise OSError(f"{folder} cannot be written to")
        child = self._spawn()
        part = self.cell.workload
        found = {}
        try:
            for done, chunk in enumerate(missing):
                progress(f"float64 oracle {done}/{len(missing)}")
                fresh = folder / f"{chunk * CHUNK:06d}.{os.getpid()}.npz"  # others may be computing the same
                child.ask(
                    "oracle",
                    workload={"target": part.target, "options": dict(part.options)},
                    size=self.cell.size,
                    seed=self.cell.seed,
                    start=chunk * CHUNK,
                    stop=(chunk + 1) * CHUNK,
                    path=str(fresh),
                )
                for damaged in folder.glob(f"{chunk * CHUNK:06d}-*.npz"):
                    damaged.unlink(missing_ok=True)
                found[chunk] = fresh.replace(folder / f"{chunk * CHUNK:06d}-{_digest(fresh)}.npz")
        finally:
            child.kill()
        return found


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        return "unreadable"


def _has_room(folder: Path) -> bool:
    """May files be made there, and is there a mebibyte for them?"""
    try:
        with tempfile.TemporaryFile(dir=folder) as scratch:
            scratch.write(bytes(1 << 20))
            scratch.flush()
    except OSError:
        return False
    return True
