"""Files of the cache that hold one result each: a line of JSON, and bytes after it. A damaged file counts as missing, and a
result that cannot be written is not kept; neither is an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

Entry = tuple[dict[str, Any], bytes]
"""Facts that can be stored as JSON, and bytes."""


def read(path: Path) -> Entry | None:
    """The entry in a file, or None if there is no such file or it is damaged."""
    try:
        head, content = path.read_bytes().split(b"\n", 1)
        description = json.loads(head)
        facts: dict[str, Any] = description["facts"]
        return (facts, content) if description["hash"] == digest(facts, content) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(path: Path, entry: Entry) -> None:
    """Writes `entry` to a file, as `write_whole` does. Does nothing if the folder cannot be written."""
    facts, content = entry
    try:
        write_whole(path, json.dumps({"facts": facts, "hash": digest(facts, content)}).encode() + b"\n" + content)
    except OSError:
        pass


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file, and its folder if need be, so that readers see the whole file or none. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, scratch = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise


def digest(facts: dict[str, Any], content: bytes) -> str:
    """The hash of an entry, by which a damaged file is noticed."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode() + content).hexdigest()
