"""Compiled kernels on disk, shared by all models. A kernel that was compiled for any model before is neither written nor
compiled again, and for such kernels TVM, whose import alone takes seconds, is not needed.

One file for each kernel in `kernels` of the cache folder, named by all that its code depends on: the kernel, the target, the
schedule, the sources of the templates, and TVM with the LLVM in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from backends.acrobat import versions
from backends.acrobat.core.cache_files import Entry, read, write
from backends.acrobat.core.folders import cache_folder

SOURCES = (Path(__file__).parent.parent, Path(__file__).parent.parent.parent / "core")
"""The folders of the templates, and of the modules that they are written with."""


@cache
def sources_hash() -> str:
    """A hash of the Python sources that determine the code of kernels."""
    return versions.hash_of(path for folder in SOURCES for path in folder.rglob("*.py"))


def read_or_make(name: str, inputs: str, make: Callable[[], Entry]) -> Entry:
    """The entry that `make` gives, read from the disk if it was made before. `inputs` names all that it depends on beside the
    sources and TVM; the file's name begins with `name`."""
    key = hashlib.sha256("\n".join([inputs, sources_hash(), versions.code_generator()]).encode()).hexdigest()[:32]
    path = cache_folder() / "kernels" / f"{name}-{key}"
    entry = read(path)
    if entry is None:
        entry = make()
        write(path, entry)
    return entry
