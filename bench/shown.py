"""Paths as they are printed."""

from __future__ import annotations

import os
from pathlib import Path


def openable(path: Path) -> str:
    """The path as a text that opens from the current folder: relative to it if the path lies below it, else absolute."""
    folder, absolute = Path.cwd(), Path(os.path.abspath(path))
    return str(absolute.relative_to(folder)) if absolute.is_relative_to(folder) else str(absolute)
