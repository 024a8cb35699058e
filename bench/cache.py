"""The folder for what the harness need not compute again: the oracle's answers, which backend runs what, hashes of sources."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """The cache folder: BENCH_CACHE if set, else one in the user's cache folder, or in the temporary folder without a home."""
    chosen = os.environ.get("BENCH_CACHE")
    if chosen:
        return Path(chosen)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "acrobat-bench"
    except RuntimeError:  # no HOME, and no such user
        return temporary_folder()


def temporary_folder() -> Path:
    """This user's folder in the system's temporary folder, for when the cache folder cannot be written. Raises OSError where
    there is no temporary folder that can be written, for instance because all are full."""
    return Path(tempfile.gettempdir()) / f"acrobat-bench-{os.getuid()}"


def folders() -> list[Path]:
    """Where to look for what is kept, and to write it: the first that can be written to."""
    try:
        return list(dict.fromkeys([cache_folder(), temporary_folder()]))
    except OSError:
        return [cache_folder()]
