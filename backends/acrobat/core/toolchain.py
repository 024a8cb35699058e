"""The C++ compiler of this machine."""

from __future__ import annotations

import os
import shutil


class BuildError(RuntimeError):
    """The compiler is missing or failed, or there is nowhere to build."""


def compiler() -> str:
    """`$CXX`, or g++, or clang++. Raises BuildError if there is none."""
    wanted = os.environ.get("CXX")
    for name in (wanted,) if wanted else ("g++", "clang++"):
        if path := shutil.which(name):
            return path
    raise BuildError(
        f"no C++ compiler: {wanted or 'g++ or clang++'} is not on the PATH; install g++ 11 or newer, or name one in CXX"
    )
