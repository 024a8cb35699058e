"""Compiled kernels on disk, shared by all models: a kernel that any model had before is neither written nor compiled again, and
TVM, whose import alone takes seconds, is not needed for it.

One file for each kernel in `kernels` of the cache folder, named by all that its code depends on: the kernel, the target, the
schedule, the sources of the templates, and TVM with the LLVM in it. A file is a line of JSON and the object file after it; one
that is damaged is as none. Where nothing can be written, nothing is kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from backends.acrobat import versions
from backends.acrobat.core.folders import cache_folder

SOURCES = (Path(__file__).parent.parent, Path(__file__).parent.parent.parent / "core")
"""The folders of the templates and of what they are written with."""

Entry = tuple[dict[str, Any], bytes]
"""Facts that survive JSON, and bytes."""


@cache
def sources_hash() -> str:
    """A hash of the sources that the code of kernels follows from."""
    digest = hashlib.sha256()
    for path in sorted(p for folder in SOURCES for p in folder.rglob("*.py")):
        if "tests" not in path.parts:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def stored(name: str, inputs: str, make: Callable[[], Entry]) -> Entry:
    """What `make` gives, from the disk if it was made before. `inputs` says all that it depends on beside the sources and TVM;
    `name` begins the name of the file."""
    key = hashlib.sha256("\n".join([inputs, sources_hash(), versions.code_generator()]).encode()).hexdigest()[:32]
    path = cache_folder() / "kernels" / f"{name}-{key}"
    if (found := read(path)) is not None:
        return found
    made = make()
    write(path, made)
    return made


def read(path: Path) -> Entry | None:
    """The entry in a file, or None if there is no such file or it is damaged."""
    try:
        head, content = path.read_bytes().split(b"\n", 1)
        described = json.loads(head)
        facts: dict[str, Any] = described["facts"]
        return (facts, content) if described["hash"] == digest(facts, content) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(path: Path, entry: Entry) -> None:
    """A reader sees the whole file or none. Does nothing where the folder cannot be written."""
    facts, content = entry
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, scratch = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".tmp", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(json.dumps({"facts": facts, "hash": digest(facts, content)}).encode() + b"\n" + content)
        os.replace(scratch, path)
    except OSError:
        pass


def digest(facts: dict[str, Any], content: bytes) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode() + content).hexdigest()
