"""Writes files of which others never see a part."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def put(path: Path, content: bytes) -> Path:
    """Write a file in one step, and make its folder if needed. Where that fails an OSError is raised, and nothing is left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise
    return path
