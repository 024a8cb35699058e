"""The cache folder: where the compiler keeps builds, kernels and measurements."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$ACROBAT_CACHE`, or `acrobat` in the user's cache folder."""
    if folder := os.environ.get("ACROBAT_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "acrobat"
