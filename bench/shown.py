"""Paths as they are printed."""

from __future__ import annotations

import os
from pathlib import Path


def openable(path: Path) -> str:
    """So that it can be opened from where the command was given: relative to there if it lies below, else absolute."""
    here, whole = Path.cwd(), Path(os.path.abspath(path))
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)
