"""Where the harness keeps what it need not work out again: answers, who runs what, what counts of a source."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


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
