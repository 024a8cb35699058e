"""The C++ compiler of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache


class BuildError(RuntimeError):
    """The compiler is missing or failed, or there is nowhere to build."""


def compiler() -> str:
    """`$CXX`, or g++, or clang++. Raises BuildError if there is none."""
    cxx = os.environ.get("CXX")
    for name in (cxx,) if cxx else ("g++", "clang++"):
        if path := shutil.which(name):
            return path
    raise BuildError(
        f"no C++ compiler: {cxx or 'g++ or clang++'} is not on the PATH; install g++ 11 or newer, or name one in CXX"
    )


@cache
def compiler_version(command: str) -> str:
    """The first line that `command --version` prints, for a C++ compiler."""
    return subprocess.run([command, "--version"], capture_output=True, text=True).stdout.partition("\n")[0]
