"""The versions of all that makes code: this compiler, the C++ compiler, TVM and the LLVM within it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from backends.acrobat.core.folders import cache_folder
from backends.acrobat.core.toolchain import compiler, compiler_version
from bench.sources import digest

ROOT = Path(__file__).parent
SOURCES = (".py", ".h", ".cpp", ".cuh")


@cache
def source_hash() -> str:
    """A hash of this compiler's own source but for its tests, with the C++ and CUDA that generated code is built with."""
    return hash_of(f"{folder}{os.sep}{name}" for folder, _, names in os.walk(ROOT) for name in names if name.endswith(SOURCES))


def hash_of(paths: Iterable[Path | str]) -> str:
    """A hash of these files of the compiler, without tests. Comments and docstrings do not count."""
    tests = f"{os.sep}tests{os.sep}"
    return digest((path for path in paths if tests not in str(path).removeprefix(str(ROOT))), cache_folder())


@cache
def code_generator() -> str:
    """A hash of the installed TVM, which has LLVM in it: of the list of its files and their hashes, without importing it."""
    text = ""
    for name in ("apache-tvm", "apache-tvm-ffi"):
        try:
            package = distribution(name)
            text += f"{name} {package.version} {package.read_text('RECORD')}"
        except PackageNotFoundError:
            text += f"{name} is not installed"
    return hashlib.sha256(text.encode()).hexdigest()


def cpp_compiler() -> str:
    """The first line of the C++ compiler's `--version`. Raises BuildError if there is none."""
    return compiler_version(compiler())
