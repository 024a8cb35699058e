"""The cache folder: where the compiler keeps builds, kernels and measurements."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """`$ACROBAT_CACHE`, or `acrobat` in the user's cache folder, or this user's folder in the temporary one without a home."""
    if folder := os.environ.get("ACROBAT_CACHE"):
        return Path(folder)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "acrobat"
    except RuntimeError:  # no HOME, and no such user
        return Path(tempfile.gettempdir()) / f"acrobat-{os.getuid()}"
